#include "walkthrough/Json.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace walkthrough {

namespace {

/// Writes an object or a list, comma by comma. The story's texts need no escapes.
class Json {
public:
    Json& open(char bracket) {
        separate();
        text_ += bracket;
        isFirst_ = true;
        return *this;
    }
    Json& close(char bracket) {
        text_ += bracket;
        isFirst_ = false;
        return *this;
    }
    Json& key(std::string_view name) {
        separate();
        quote(name);
        text_ += ':';
        isFirst_ = true;
        return *this;
    }
    Json& value(std::string_view text) {
        separate();
        quote(text);
        return *this;
    }
    Json& value(std::int64_t number) {
        separate();
        text_ += std::to_string(number);
        return *this;
    }
    Json& value(std::size_t number) { return value(static_cast<std::int64_t>(number)); }
    template <class Value>
    Json& member(std::string_view name, Value const& of) {
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

void write(Json& json, BucketPicture const& bucket) {
    json.open('{')
        .member("level", std::int64_t{bucket.level})
        .member("slot", std::int64_t{bucket.slot})
        .member("expiration", bucket.expiration);
    json.key("tasks").open('[');
    for (std::size_t const task : bucket.tasks) json.value(task);
    json.close(']').close('}');
}

void write(Json& json, std::string_view name, std::optional<Place> const& place) {
    if (!place) return;
    json.key(name)
        .open('{')
        .member("level", std::int64_t{place->level})
        .member("slot", std::int64_t{place->slot})
        .member("expiration", place->expiration)
        .close('}');
}

void write(Json& json, TaskPicture const& task) {
    json.open('{')
        .member("name", task.name)
        .member("scheduledAt", task.scheduledAt)
        .member("delay", task.delay)
        .member("deadline", task.deadline)
        .member("state", std::string_view{toString(task.state)})
        .member("endedAt", task.endedAt)
        .member("cascades", task.cascades)
        .close('}');
}

void write(Json& json, LevelPicture const& level) {
    json.open('{')
        .member("granularity", level.granularity)
        .member("interval", level.interval)
        .member("clock", level.clock);
    json.key("buckets").open('[');
    for (BucketPicture const& bucket : level.buckets) write(json, bucket);
    json.close(']').close('}');
}

void write(Json& json, FlatPicture const& flat) {
    json.open('{')
        .member("clock", flat.clock)
        .member("slots", flat.slots)
        .member("ticksWalked", flat.ticksWalked)
        .member("passedOver", flat.passedOver);
    json.key("entries").open('[');
    for (FlatPicture::Entry const& entry : flat.entries)
        json.open('{')
            .member("task", entry.task)
            .member("slot", entry.slot)
            .member("rounds", entry.rounds)
            .close('}');
    json.close(']').close('}');
}

template <class Range>
void write(Json& json, std::string_view name, Range const& range) {
    json.key(name).open('[');
    for (auto const& each : range) write(json, each);
    json.close(']');
}

}  // namespace

std::string toJson(Frame const& frame) {
    Picture const& picture = frame.picture;
    Json json;
    json.open('{').member("stage", std::string_view{toString(frame.stage)});
    if (frame.task != Frame::kNobody) json.member("task", frame.task);
    write(json, "from", frame.from);
    write(json, "to", frame.to);
    json.member("sentence", frame.sentence)
        .member("flatSentence", frame.flatSentence)
        .member("now", picture.now)
        .member("clock", picture.clock)
        .member("wakeUps", picture.wakeUps)
        .member("cascades", picture.cascades);
    write(json, "levels", picture.levels);
    write(json, "heap", picture.heap);
    write(json, "tasks", picture.tasks);
    json.key("flat");
    write(json, picture.flat);
    return json.close('}').take();
}

}  // namespace walkthrough
