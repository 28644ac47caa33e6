#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace walkthrough {

/// Writes an object or a list, comma by comma. The walkthrough's texts need no escapes.
class JsonWriter {
public:
    JsonWriter& open(char bracket) {
        separate();
        text_ += bracket;
        isFirst_ = true;
        return *this;
    }
    JsonWriter& close(char bracket) {
        text_ += bracket;
        isFirst_ = false;
        return *this;
    }
    JsonWriter& key(std::string_view name) {
        separate();
        quote(name);
        text_ += ':';
        isFirst_ = true;
        return *this;
    }
    JsonWriter& value(std::string_view text) {
        separate();
        quote(text);
        return *this;
    }
    JsonWriter& value(std::int64_t number) {
        separate();
        text_ += std::to_string(number);
        return *this;
    }
    /// Text that is JSON already.
    JsonWriter& raw(std::string_view json) {
        separate();
        text_ += json;
        return *this;
    }
    JsonWriter& value(std::size_t number) { return value(static_cast<std::int64_t>(number)); }
    template <class Value>
    JsonWriter& member(std::string_view name, Value const& of) {
        return key(name).value(of);
    }

    std::string take() { return std::move(text_); }

private:
    void separate() {
        if (!isFirst_) text_ += ',';
        isFirst_ = false;
    }
    void quote(std::string_view text) { (text_ += '"').append(text) += '"'; }

    std::string text_;
    bool isFirst_ = true;
};

}  // namespace walkthrough
