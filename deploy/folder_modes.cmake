# Run by cpack before it packs: folders are open to all, whatever the umask of who builds. That of root may be 077, and then nobody could
# have read what the package installed.
file(GLOB_RECURSE folders LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*)
list(FILTER folders EXCLUDE REGEX "/DEBIAN$")
foreach(folder ${CPACK_TEMPORARY_DIRECTORY} ${folders})
	if(IS_DIRECTORY ${folder} AND NOT IS_SYMLINK ${folder})
		file(CHMOD ${folder} DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
	endif()
endforeach()
