#pragma once

#include <cctype>
#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace timingwheel::test {

/// A JSON value, for looking into what was written: strict, but without escapes in strings.
class Json {
public:
    /// Throws std::runtime_error if `text` is not exactly one value.
    static Json parse(std::string_view text) {
        Parser parser{text};
        Json value = parser.value();
        parser.skipSpace();
        if (!parser.atEnd()) parser.fail();
        return value;
    }

    bool has(std::string const& key) const { return members_.contains(key); }
    Json const& operator[](std::string const& key) const { return members_.at(key); }
    std::vector<Json> const& items() const { return items_; }
    std::string const& text() const { return text_; }
    double number() const { return std::stod(text_); }
    long long integer() const { return std::stoll(text_); }

private:
    class Parser {
    public:
        explicit Parser(std::string_view text) : text_{text} {}

        bool atEnd() const { return at_ == text_.size(); }
        void skipSpace() {
            while (!atEnd() && (peek() == ' ' || peek() == '\n')) ++at_;
        }
        [[noreturn]] void fail() const {
            throw std::runtime_error{"no JSON at byte " + std::to_string(at_) + ": " +
                                     std::string{text_.substr(at_, 40)}};
        }

        Json value() {
            skipSpace();
            if (atEnd()) fail();
            switch (peek()) {
                case '{':
                    return object();
                case '[':
                    return array();
                case '"':
                    return string();
                default:
                    return literal();
            }
        }

    private:
        char peek() const { return text_[at_]; }
        void expect(char c) {
            skipSpace();
            if (atEnd() || peek() != c) fail();
            ++at_;
        }
        /// True while another element follows; takes the comma, or the end.
        bool goesOn(char end) {
            skipSpace();
            if (atEnd() || (peek() != ',' && peek() != end)) fail();
            return text_[at_++] == ',';
        }
        bool takes(char c) {
            skipSpace();
            if (atEnd() || peek() != c) return false;
            ++at_;
            return true;
        }

        Json object() {
            Json json;
            expect('{');
            if (takes('}')) return json;
            do {
                skipSpace();
                std::string const key = string().text_;
                expect(':');
                if (!json.members_.emplace(key, value()).second) fail();
            } while (goesOn('}'));
            return json;
        }

        Json array() {
            Json json;
            expect('[');
            if (takes(']')) return json;
            do json.items_.push_back(value());
            while (goesOn(']'));
            return json;
        }

        Json string() {
            Json json;
            expect('"');
            while (!atEnd() && peek() != '"') {
                if (peek() < ' ' || peek() == '\\') fail();
                json.text_ += text_[at_++];
            }
            expect('"');
            return json;
        }

        /// A number, true or false.
        Json literal() {
            Json json;
            while (!atEnd() && (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '.' ||
                                peek() == '-'))
                json.text_ += text_[at_++];
            if (json.text_ == "true" || json.text_ == "false") return json;
            std::size_t used = 0;
            if (json.text_.empty()) fail();
            static_cast<void>(std::stod(json.text_, &used));
            if (used != json.text_.size()) fail();
            return json;
        }

        std::string_view text_;
        std::size_t at_ = 0;
    };

    std::map<std::string, Json> members_;
    std::vector<Json> items_;
    std::string text_;
};

}  // namespace timingwheel::test
