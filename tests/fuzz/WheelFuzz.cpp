#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <model/WheelScenario.h>
#include <span>
#include <stdexcept>

// The same for the wheels alone, of the user's own entries.

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using timingwheel::model::wheel::WheelScenario;
    WheelScenario const scenario = WheelScenario::decode(std::span{data, size});
    try {
        scenario.run();
    } catch (std::logic_error const& error) {
        std::cerr << error.what() << '\n' << scenario << '\n';
        std::abort();
    }
    return 0;
}
