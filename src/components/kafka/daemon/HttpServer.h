#pragma once

#include <functional>
#include <map>
#include <string>

struct mg_connection;
struct mg_context;

namespace timingwheel::inline v1::kafka {

/// Serves a few pages over HTTP.
///
/// Thread safety  two threads of its own make the pages
class HttpServer {
public:
    struct Answer {
        int status = 200;
        std::string body;
        char const* type = "text/plain; charset=utf-8";
    };
    using Pages = std::map<std::string, std::function<Answer()>>;  // by path

    /// Listens on address:port. Throws std::runtime_error.
    HttpServer(std::string const& address, Pages pages);
    HttpServer(HttpServer const&) = delete;
    HttpServer& operator=(HttpServer const&) = delete;
    /// Waits for answers that are under way.
    ~HttpServer();

    /// The port, which the system chooses if the address says 0.
    int port() const;

private:
    static int answer(mg_connection* connection, void* self);
    Answer answerTo(std::string const& method, std::string const& path) const;

    Pages pages_;
    mg_context* context_;
};

}  // namespace timingwheel::inline v1::kafka
