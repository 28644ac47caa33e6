#pragma once

#include "support/Folders.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

/// What the public headers declare, for tests that compare a table with it. The style has one
/// declaration to a line; what is indented further is a body, or goes on from the line before.
namespace timingwheel::test {

inline std::filesystem::path const kRoot{sourceFolder()};

inline std::string textOf(std::filesystem::path const& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

inline bool isInName(char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

/// The first name in a line that a parenthesis follows, unless something qualifies it; or nothing.
inline std::string nameOfFunction(std::string const& line) {
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

/// The functions in the public parts of a header, but for details.
inline std::set<std::string> functionsOf(std::filesystem::path const& header) {
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

inline std::string_view withoutIndent(std::string_view line) {
    return line.substr(std::min(line.find_first_not_of(' '), line.size()));
}

inline std::string_view without(std::string_view prefix, std::string_view text) {
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

/// The operator that a line declares, such as "operator==" or "operator bool"; or nothing.
inline std::string nameOfOperator(std::string const& line) {
    std::string_view const word = "operator";
    std::size_t const at = line.find(word);
    if (at == std::string::npos || (at > 0 && isInName(line[at - 1]))) return {};
    std::string_view const rest = withoutIndent(std::string_view{line}.substr(at + word.size()));
    if (rest.starts_with("()")) return "operator()";
    if (rest.starts_with("bool")) return "operator bool";
    std::size_t length = 0;
    while (length < rest.size() && !isInName(rest[length]) && rest[length] != '(' &&
           rest[length] != ' ')
        ++length;
    return length == 0 ? std::string{} : "operator" + std::string{rest.substr(0, length)};
}

/// What a line declares in the class `scope`: a function, an operator, a constructor or the
/// destructor; or nothing. What is deleted is nothing.
inline std::string nameOfMember(std::string const& line, std::string const& scope) {
    if (line.find("= delete") != std::string::npos) return {};
    if (std::string const name = nameOfOperator(line); !name.empty()) return name;
    std::string const name = scope.substr(scope.rfind(':') + 1);
    if (line.find("~" + name + "(") != std::string::npos) return "~" + name;
    std::string_view const declaration = without("explicit ", withoutIndent(line));
    if (declaration.starts_with(name + "(")) return name;
    return nameOfFunction(line);
}

/// The class or struct that a line begins to define, or nothing: one that ends the line with a
/// semicolon is only declared.
inline std::string nameOfClass(std::string const& line) {
    std::string_view const text = withoutIndent(line);
    if (text.find(';') != std::string_view::npos) return {};
    std::string_view rest = without("struct ", without("class ", text));
    if (rest.size() == text.size()) return {};
    rest = without("TIMINGWHEEL_API ", rest);
    std::size_t length = 0;
    while (length < rest.size() && (isInName(rest[length]) || rest[length] == ':')) ++length;
    return std::string{rest.substr(0, length)};
}

/// The public members of a header's classes, with their class: "Timeout::cancel". Those of one name
/// count as one.
inline std::set<std::string> membersOf(std::filesystem::path const& header) {
    struct Scope {
        std::string name;
        bool isPublic;
    };
    std::set<std::string> found;
    std::vector<Scope> scopes;
    bool isDetail = false;
    std::istringstream lines{textOf(header)};
    for (std::string line; std::getline(lines, line);) {
        line = line.substr(0, line.find("//"));
        if (line.starts_with("namespace detail")) isDetail = true;
        if (line.starts_with("}")) isDetail = false;
        std::size_t const indent = line.find_first_not_of(' ');
        if (isDetail || indent == std::string::npos) continue;
        while (!scopes.empty() && line[indent] == '}' && indent < 4 * scopes.size())
            scopes.pop_back();
        if (std::string const name = nameOfClass(line);
            !name.empty() && indent == 4 * scopes.size()) {
            std::string const outer = scopes.empty() ? "" : scopes.back().name + "::";
            scopes.push_back({outer + name, withoutIndent(line).starts_with("struct ")});
            continue;
        }
        if (scopes.empty()) continue;
        if (line.ends_with("private:") || line.ends_with("protected:"))
            scopes.back().isPublic = false;
        if (line.ends_with("public:")) scopes.back().isPublic = true;
        if (!scopes.back().isPublic || indent != 4 * scopes.size()) continue;
        std::string const name = nameOfMember(line, scopes.back().name);
        if (!name.empty()) found.insert(scopes.back().name + "::" + name);
    }
    return found;
}

/// True if `text` calls a function of this name.
inline bool calls(std::string const& text, std::string const& name) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        char const before = at == 0 ? ' ' : text[at - 1];
        char const after = text[std::min(at + name.size(), text.size() - 1)];
        if (!isInName(before) && (after == '(' || after == '<')) return true;
    }
    return false;
}

}  // namespace timingwheel::test
