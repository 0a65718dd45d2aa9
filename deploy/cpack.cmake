# Read by cpack: the time of all files in the package, so that the same sources give the same bytes. That of a commit where one is told.
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
	set(ENV{SOURCE_DATE_EPOCH} 1793491200) # the first of November 2026
endif()
