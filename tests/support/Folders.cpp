#include "support/Folders.h"

namespace timingwheel {
namespace test {

std::string sourceFolder() { return TIMINGWHEEL_SOURCE_DIR; }
std::string goldenFolder() { return sourceFolder() + "/tests/golden"; }

}  // namespace test
}  // namespace timingwheel
