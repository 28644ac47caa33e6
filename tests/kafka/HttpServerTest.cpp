#include "components/kafka/daemon/HttpServer.h"

#include <civetweb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace timingwheel::test::kafka {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using timingwheel::kafka::HttpServer;

class HttpServerTest : public ::testing::Test {
protected:
    struct Response {
        int status = 0;
        std::string type;
        std::string length;
        std::string body;
    };
    Response ask(std::string const& method, std::string const& path) const {
        char error[256];
        mg_connection* const connection =
            mg_download("127.0.0.1", server.port(), 0, error, sizeof error,
                        "%s %s HTTP/1.0\r\nHost: localhost\r\n\r\n", method.c_str(), path.c_str());
        if (connection == nullptr) throw std::runtime_error{error};
        auto const header = [connection](char const* name) {
            char const* const value = mg_get_header(connection, name);
            return std::string{value == nullptr ? "(none)" : value};
        };
        Response response{mg_get_response_info(connection)->status_code,
                          header("Content-Type"),
                          header("Content-Length"),
                          {}};
        char bytes[1'000];
        for (int read = 0; (read = mg_read(connection, bytes, sizeof bytes)) > 0;)
            response.body.append(bytes, static_cast<std::size_t>(read));
        mg_close_connection(connection);
        return response;
    }

    HttpServer server{
        "127.0.0.1:0",
        {{"/large",
          [] {
              return HttpServer::Answer{200, std::string(100'000, 'x')};
          }},
         {"/sick",
          [] {
              return HttpServer::Answer{503, "it is sick\n"};
          }},
         {"/json",
          [] {
              return HttpServer::Answer{200, "{}", "application/json"};
          }},
         {"/throws", []() -> HttpServer::Answer { throw std::runtime_error{"no page"}; }}}};
};

TEST_F(HttpServerTest, AnswersWithThePageOfAPath) {
    Response const large = ask("GET", "/large");
    EXPECT_EQ(large.status, 200);
    EXPECT_EQ(large.type, "text/plain; charset=utf-8");
    EXPECT_EQ(large.body, std::string(100'000, 'x'));
    Response const sick = ask("GET", "/sick?now");
    EXPECT_EQ(sick.status, 503);
    EXPECT_EQ(sick.body, "it is sick\n");
    EXPECT_EQ(ask("GET", "/json").type, "application/json");
}

TEST_F(HttpServerTest, SendsHeadersAloneForHead) {
    Response const head = ask("HEAD", "/sick");
    EXPECT_EQ(head.status, 503);
    EXPECT_EQ(head.length, "11");
    EXPECT_EQ(head.body, "");
}

TEST_F(HttpServerTest, RefusesWhatItDoesNotHave) {
    for (char const* const path : {"/", "/sick/more", "/../sick.txt"})
        EXPECT_EQ(ask("GET", path).status, 404) << path;
    EXPECT_THAT(ask("GET", "/none").body, HasSubstr("there is no /none: there is /json /large"));
    EXPECT_EQ(ask("POST", "/sick").status, 405);
}

TEST_F(HttpServerTest, GoesOnIfAPageThrows) {
    Response const failed = ask("GET", "/throws");
    EXPECT_EQ(failed.status, 500);
    EXPECT_EQ(failed.body, "no page\n");
    EXPECT_EQ(ask("GET", "/json").status, 200);
}

TEST_F(HttpServerTest, ThrowsIfItCannotListenThere) {
    std::string const taken = "127.0.0.1:" + std::to_string(server.port());
    try {
        HttpServer const other{taken, {}};
        FAIL() << "two servers listen on " << taken;
    } catch (std::runtime_error const& error) {
        EXPECT_THAT(error.what(),
                    AllOf(StartsWith("--metrics " + taken + ": cannot listen there ("),
                          HasSubstr("Address already in use")));
    }
    EXPECT_THROW((HttpServer{"nowhere", {}}), std::runtime_error);
}

}  // namespace
}  // namespace timingwheel::test::kafka
