# What is installed where, and the .deb: cmake --build BUILD && (cd BUILD && cpack). `tests/run deb` tries it.
foreach(program sm-server sm-ship sm-search)
	if(TARGET ${program})
		install(TARGETS ${program} RUNTIME DESTINATION bin)
	endif()
endforeach()
install(FILES deploy/smfleet.service DESTINATION lib/systemd/system)
install(FILES deploy/sm-server.conf DESTINATION /etc/smfleet)
install(FILES README.md ARCHITECTURE.md SECURITY.md DESTINATION share/doc/smfleet)
install(FILES LICENSE DESTINATION share/doc/smfleet RENAME copyright)
install(DIRECTORY docs deploy/examples DESTINATION share/doc/smfleet)
install(FILES deploy/aws-collector-policy.json DESTINATION share/doc/smfleet/examples)

# Of what, and under which licences: read from the programs that go into the package (deploy/sbom).
find_program(DPKG_QUERY dpkg-query)
if(DPKG_QUERY)
	install(CODE "execute_process(COMMAND ${CMAKE_SOURCE_DIR}/deploy/sbom ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/sbom COMMAND_ERROR_IS_FATAL ANY)")
	install(FILES ${CMAKE_BINARY_DIR}/sbom/smfleet.spdx.json ${CMAKE_BINARY_DIR}/sbom/THIRD-PARTY DESTINATION share/smfleet)
endif()

set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON) # tests are no part of it
set(CPACK_GENERATOR DEB)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/deploy/folder_modes.cmake)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/deploy/cpack.cmake)
set(CPACK_PACKAGE_NAME smfleet)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "smfleet <smfleet@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "metrics server and dashboard for machine-learning training fleets")
set(CPACK_PACKAGE_DESCRIPTION "Trainers print log lines; smfleet stores every line, turns lines into metrics, draws them while they
arrive, and rings a webhook when a loss spikes. With sm-ship, which ships a process's output, and sm-search.")
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_SET_DESTDIR ON) # /etc is no part of the prefix
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/debian/conffiles ${CMAKE_SOURCE_DIR}/deploy/debian/postinst
	${CMAKE_SOURCE_DIR}/deploy/debian/prerm ${CMAKE_SOURCE_DIR}/deploy/debian/postrm)
include(CPack)
