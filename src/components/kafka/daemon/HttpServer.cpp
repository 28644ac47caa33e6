#include "components/kafka/daemon/HttpServer.h"

#include <civetweb.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

namespace timingwheel::inline v1::kafka {

namespace {

// Why civetweb cannot start, it says to its log alone, and first: in the thread that starts it.
thread_local char said[256];

}  // namespace

HttpServer::HttpServer(std::string const& address, Pages pages) : pages_{std::move(pages)} {
    mg_init_library(0);
    // A client that is silent does not hold up others for long.
    char const* settings[] = {"listening_ports",    address.c_str(), "num_threads", "2",
                              "request_timeout_ms", "5000",          nullptr};
    mg_callbacks callbacks{};
    callbacks.log_message = [](mg_connection const*, char const* message) {
        if (said[0] == '\0') std::snprintf(said, sizeof said, "%s", message);
        return 1;
    };
    said[0] = '\0';
    context_ = mg_start(&callbacks, nullptr, settings);
    if (context_ == nullptr) {
        mg_exit_library();
        throw std::runtime_error{"--metrics " + address + ": cannot listen there (" + said + ")"};
    }
    mg_set_request_handler(context_, "**", answer, this);
}

HttpServer::~HttpServer() {
    mg_stop(context_);
    mg_exit_library();
}

int HttpServer::port() const {
    mg_server_port port{};
    return mg_get_server_ports(context_, 1, &port) > 0 ? port.port : 0;
}

int HttpServer::answer(mg_connection* connection, void* self) {
    mg_request_info const& request = *mg_get_request_info(connection);
    std::string const method = request.request_method;
    Answer answer;
    try {
        answer = static_cast<HttpServer*>(self)->answerTo(method, request.local_uri);
    } catch (std::exception const& error) {
        // An exception does not pass through civetweb.
        answer = {500, error.what() + std::string{"\n"}};
    }
    mg_printf(connection,
              "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
              "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
              answer.status, mg_get_response_code_text(connection, answer.status), answer.type,
              answer.body.size());
    if (method != "HEAD") mg_write(connection, answer.body.data(), answer.body.size());
    return answer.status;
}

HttpServer::Answer HttpServer::answerTo(std::string const& method, std::string const& path) const {
    auto const page = pages_.find(path);
    if (page == pages_.end()) {
        std::string all;
        for (auto const& [other, make] : pages_) all += " " + other;
        return {404, "there is no " + path + ": there is" + all + "\n"};
    }
    if (method != "GET" && method != "HEAD") return {405, method + ": GET or HEAD\n"};
    return page->second();
}

}  // namespace timingwheel::inline v1::kafka
