#pragma once

#include <string>

namespace timingwheel {
namespace test {

/// The project's folder, and the one of what was recorded.
std::string sourceFolder();
std::string goldenFolder();

}  // namespace test
}  // namespace timingwheel
