-- Whose word a session is: a provider's name may be given to another issuer. NULL: of before, and good for nobody.
ALTER TABLE people_sessions ADD COLUMN issuer text COLLATE "C";
