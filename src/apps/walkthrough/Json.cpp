#include "apps/walkthrough/Json.h"

#include "apps/walkthrough/JsonWriter.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace walkthrough {

namespace {

void write(JsonWriter& json, BucketPicture const& bucket) {
    json.open('{')
        .member("level", std::int64_t{bucket.level})
        .member("slot", std::int64_t{bucket.slot})
        .member("expiration", bucket.expiration);
    json.key("tasks").open('[');
    for (std::size_t const task : bucket.tasks) json.value(task);
    json.close(']').close('}');
}

void write(JsonWriter& json, std::string_view name, std::optional<Place> const& place) {
    if (!place) return;
    json.key(name)
        .open('{')
        .member("level", std::int64_t{place->level})
        .member("slot", std::int64_t{place->slot})
        .member("expiration", place->expiration)
        .close('}');
}

void write(JsonWriter& json, TaskPicture const& task) {
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

void write(JsonWriter& json, LevelPicture const& level) {
    json.open('{')
        .member("slots", level.slots)
        .member("granularity", level.granularity)
        .member("interval", level.interval)
        .member("clock", level.clock);
    json.key("buckets").open('[');
    for (BucketPicture const& bucket : level.buckets) write(json, bucket);
    json.close(']').close('}');
}

void write(JsonWriter& json, FlatPicture const& flat) {
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
void write(JsonWriter& json, std::string_view name, Range const& range) {
    json.key(name).open('[');
    for (auto const& each : range) write(json, each);
    json.close(']');
}

}  // namespace

std::string toJson(Frame const& frame) {
    Picture const& picture = frame.picture;
    JsonWriter json;
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
