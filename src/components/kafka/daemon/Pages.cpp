#include "components/kafka/daemon/Pages.h"

#include <cstdio>
#include <string_view>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

std::string jsonString(std::string_view text) {
    std::string json{'"'};
    for (char const letter : text) {
        if (letter == '"' || letter == '\\') {
            json += {'\\', letter};
        } else if (static_cast<unsigned char>(letter) < ' ') {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(letter));
            json += escaped;
        } else {
            json += letter;
        }
    }
    return json + '"';
}

std::string jsonOf(std::map<std::string, std::string> const& options) {
    std::string json;
    for (auto const& [name, value] : options)
        json += (json.empty() ? "\n  " : ",\n  ") + jsonString(name) + ": " + jsonString(value);
    return "{" + json + "\n}\n";
}

}  // namespace

HttpServer::Pages pagesOf(Metrics const& metrics, std::map<std::string, std::string> options) {
    using Answer = HttpServer::Answer;
    HttpServer::Pages pages;
    pages["/metrics"] = [&metrics] {
        return Answer{200, metrics.text(), "text/plain; version=0.0.4; charset=utf-8"};
    };
    pages["/healthz"] = [&metrics] {
        return metrics.isAlive() ? Answer{200, "ok\n"}
                                 : Answer{503, "the consumer's thread does not go round\n"};
    };
    pages["/readyz"] = [&metrics] {
        std::string const why = metrics.whyNotReady();
        return why.empty() ? Answer{200, "ok\n"} : Answer{503, why};
    };
    pages["/config"] = [json = jsonOf(options)] { return Answer{200, json, "application/json"}; };
    return pages;
}

}  // namespace timingwheel::inline v1::kafka
