#pragma once

#include "components/kafka/daemon/Options.h"

#include <map>
#include <string>

namespace CLI {
class App;
}

namespace timingwheel::inline v1::kafka {

/// All options by name, as they are: set by the command line or a file, or by default. A setting of
/// librdkafka is there as librdkafka.<name>. Those that may be secret by their name are ***.
std::map<std::string, std::string> activeOptions(CLI::App const& app, Options const& options);

/// "name=value", one after the other.
std::string inOneLine(std::map<std::string, std::string> const& options);

}  // namespace timingwheel::inline v1::kafka
