#pragma once

#include "components/kafka/daemon/HttpServer.h"
#include "components/kafka/daemon/Metrics.h"

#include <map>
#include <string>

namespace timingwheel::inline v1::kafka {

/// What a worker serves: /metrics, /healthz, /readyz and /config. docs/beyond.md says what each is
/// for. `metrics` must outlive the pages. `options` are shown as they are: secrets must be hidden.
HttpServer::Pages pagesOf(Metrics const& metrics, std::map<std::string, std::string> options);

}  // namespace timingwheel::inline v1::kafka
