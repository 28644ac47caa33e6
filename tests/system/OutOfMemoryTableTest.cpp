// The tables of calls that are tried without memory are complete: they name every function that
// the public headers declare.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
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

bool isInName(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

/// The first name in a line that a parenthesis follows, unless something qualifies it; or nothing.
std::string nameOfFunction(std::string const& line) {
    std::set<std::string> const keywords{"noexcept", "requires", "decltype", "bool"};
    for (std::size_t at = line.find('('); at != std::string::npos; at = line.find('(', at + 1)) {
        std::size_t begin = at;
        while (begin > 0 && isInName(line[begin - 1])) --begin;
        std::string name = line.substr(begin, at - begin);
        bool const isFirst = begin == 0 || std::string{" *&"}.find(line[begin - 1]) < 3;
        if (!isFirst || name.empty() || keywords.contains(name)) continue;
        if (std::islower(static_cast<unsigned char>(name[0])) != 0) return name;
    }
    return {};
}

/// The functions in the public parts of a header, but for details. The style has one declaration
/// to a line; what is indented further is a body, or goes on from the line before.
std::set<std::string> functionsOf(std::filesystem::path const& header) {
    std::set<std::string> found;
    bool isPublic = true;
    bool isDetail = false;
    std::istringstream lines{textOf(header)};
    for (std::string line; std::getline(lines, line);) {
        line = line.substr(0, line.find("//"));
        if (line.starts_with("namespace detail")) isDetail = true;
        if (line.starts_with("}")) isDetail = false, isPublic = true;
        if (line.ends_with("private:") || line.ends_with("protected:")) isPublic = false;
        if (line.ends_with("public:")) isPublic = true;
        bool const isDeclaration = line.find_first_not_of(' ') <= 4;
        if (!isPublic || isDetail || !isDeclaration || line.starts_with('#')) continue;
        if (std::string const name = nameOfFunction(line); !name.empty()) found.insert(name);
    }
    return found;
}

/// True if `text` calls a function of this name.
bool calls(std::string const& text, std::string const& name) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        char const before = at == 0 ? ' ' : text[at - 1];
        char const after = text[std::min(at + name.size(), text.size() - 1)];
        if (!isInName(before) && (after == '(' || after == '<')) return true;
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
