# timingwheel_left_out(<what> <why>): what cannot be built or run here stands among the tests as one
# that was skipped, so that the end of ./dev test names it.
function(timingwheel_left_out what why)
    if(NOT TEST left-out.${what})
        add_test(NAME left-out.${what} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${why}")
        set_tests_properties(left-out.${what} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: "
                                                         LABELS left-out)
    endif()
endfunction()
