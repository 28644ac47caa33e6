// The tables of calls that are tried without memory are complete: they name every function that
// the public headers declare.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace timingwheel::test {
namespace {

std::filesystem::path const kRoot{TIMINGWHEEL_SOURCE_DIR};

std::string textOf(std::filesystem::path const& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

/// Names before a parenthesis in the public parts of a header, but for bodies and details. They
/// are declared there: the style has one declaration to a line.
std::set<std::string> functionsOf(std::filesystem::path const& header) {
    static std::regex const comment{"//.*"};
    static std::regex const function{R"((?:^|[ *&~])([a-z]\w*)\()"};
    static std::set<std::string> const keywords{"noexcept", "requires", "decltype", "bool"};
    std::set<std::string> found;
    bool isPublic = true;
    bool isDetail = false;
    std::istringstream lines{textOf(header)};
    for (std::string line; std::getline(lines, line);) {
        line = std::regex_replace(line, comment, "");
        if (line.starts_with("namespace detail")) isDetail = true;
        if (line.starts_with("}")) isDetail = false, isPublic = true;
        if (line.ends_with("private:") || line.ends_with("protected:")) isPublic = false;
        if (line.ends_with("public:")) isPublic = true;
        // What is indented further is a body, or goes on from the line before.
        bool const isDeclaration = line.find_first_not_of(' ') <= 4;
        std::smatch match;
        if (!isPublic || isDetail || !isDeclaration || line.starts_with('#')) continue;
        if (std::regex_search(line, match, function) && !keywords.contains(match[1].str()))
            found.insert(match[1].str());
    }
    return found;
}

/// True if `text` calls a function of this name.
bool calls(std::string const& text, std::string const& name) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        char const before = at == 0 ? ' ' : text[at - 1];
        char const after = text[std::min(at + name.size(), text.size() - 1)];
        bool const isWord = std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '_';
        if (isWord && (after == '(' || after == '<')) return true;
    }
    return false;
}

TEST(OutOfMemoryTable, HasEveryPublicFunction) {
    // Called by timers and clocks, not by users: the tables have what makes them do so.
    std::set<std::string> const called{"wait",    "subscribe",    "nextExpiration",
                                       "runDue",  "isInsideTask", "onEvent",
                                       "execute", "run",          "cancelled"};
    std::string tables = textOf(kRoot / "tests/support/OutOfMemory.h");
    for (auto const& file : std::filesystem::directory_iterator{kRoot / "tests/system"})
        if (file.path().filename().string().starts_with("OutOfMemory"))
            tables += textOf(file.path());
    std::size_t count = 0;
    for (auto const& file : std::filesystem::directory_iterator{kRoot / "include/timingwheel"}) {
        if (file.path().extension() != ".h") continue;
        for (std::string const& name : functionsOf(file.path())) {
            ++count;
            if (called.contains(name)) continue;
            EXPECT_TRUE(calls(tables, name)) << name << " of " << file.path().filename();
        }
    }
    EXPECT_GT(count, 80U);
}

}  // namespace
}  // namespace timingwheel::test
