import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.LagInfo;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;

/**
 * Timers as Kafka Streams has them, beside which ./dev kafka figures measures timingwheel-kafka:
 * StreamsTimers BROKERS PORT FOLDER STANDBYS.
 *
 * It takes schedules and cancels from timers.commands, with timingwheel-kafka's headers, and serves
 * some of its metrics. A timer is in two persistent stores: by its id, when it is due; by that time
 * and its id, what is delivered. A punctuator delivers.
 */
public class StreamsTimers {
    private static final String TIMES = "times", TIMERS = "timers";
    private static final int AT_MOST = 5_000; // deliveries of one call, between which commands are read
    private static final LongAdder scheduled = new LongAdder(), cancelled = new LongAdder();
    private static final Set<Integer> ready = ConcurrentHashMap.newKeySet();

    private record Timer(String to, byte[] value) {}

    private static class Timers implements Processor<byte[], byte[], byte[], Timer> {
        private ProcessorContext<byte[], Timer> context;
        private KeyValueStore<byte[], byte[]> times, timers;
        // Nothing is due before: neither an empty store is scanned, nor what was just deleted.
        private long earliest = 0;

        @Override
        public void init(ProcessorContext<byte[], Timer> given) {
            context = given;
            times = given.getStateStore(TIMES);
            timers = given.getStateStore(TIMERS);
            given.schedule(Duration.ofMillis(10), PunctuationType.WALL_CLOCK_TIME, this::deliver);
            ready.add(given.taskId().partition());
        }

        @Override
        public void process(Record<byte[], byte[]> command) {
            byte[] id = command.key(), before = times.get(id);
            if (before != null) timers.delete(joined(before, id));
            if (text(command.headers(), "command").equals("schedule")) {
                byte[] to = text(command.headers(), "to").getBytes(StandardCharsets.UTF_8);
                long at = Long.parseLong(text(command.headers(), "at"));
                byte[] time = ByteBuffer.allocate(Long.BYTES).putLong(at).array();
                byte[] length = {(byte) to.length}; // a topic's name has 249 bytes at most
                times.put(id, time);
                timers.put(joined(time, id), joined(length, to, command.value()));
                earliest = Math.min(earliest, at);
                scheduled.increment();
            } else if (before != null) {
                times.delete(id);
                cancelled.increment();
            }
        }

        private void deliver(long now) {
            if (now < earliest) return;
            byte[] from = ByteBuffer.allocate(Long.BYTES).putLong(earliest).array();
            try (var found = timers.range(from, null)) {
                earliest = Long.MAX_VALUE;
                for (int i = 0; found.hasNext(); ++i) {
                    ByteBuffer key = ByteBuffer.wrap(found.peekNextKey());
                    long at = key.getLong();
                    if (at > now || i == AT_MOST) {
                        earliest = at;
                        return;
                    }
                    var next = found.next();
                    byte[] id = rest(key);
                    ByteBuffer value = ByteBuffer.wrap(next.value);
                    byte[] to = new byte[Byte.toUnsignedInt(value.get())];
                    value.get(to);
                    Headers headers = new RecordHeaders()
                            .add("timingwheel-id", id)
                            .add("timingwheel-at", Long.toString(at).getBytes(StandardCharsets.UTF_8));
                    context.forward(new Record<>(
                            id, new Timer(new String(to, StandardCharsets.UTF_8), rest(value)), at, headers));
                    timers.delete(next.key);
                    times.delete(id);
                }
            }
        }

        @Override
        public void close() {
            ready.remove(context.taskId().partition());
        }
    }

    private static String text(Headers headers, String name) {
        return new String(headers.lastHeader("timingwheel-" + name).value(), StandardCharsets.UTF_8);
    }

    private static byte[] joined(byte[]... parts) {
        int length = 0;
        for (byte[] part : parts) length += part.length;
        ByteBuffer all = ByteBuffer.allocate(length);
        for (byte[] part : parts) all.put(part);
        return all.array();
    }

    private static byte[] rest(ByteBuffer buffer) {
        byte[] found = new byte[buffer.remaining()];
        buffer.get(found);
        return found;
    }

    private static StoreBuilder<KeyValueStore<byte[], byte[]>> store(String name) {
        return Stores.keyValueStoreBuilder(
                Stores.persistentKeyValueStore(name), Serdes.ByteArray(), Serdes.ByteArray());
    }

    private static Topology topology() {
        Serializer<byte[]> bytes = Serdes.ByteArray().serializer();
        return new Topology()
                .addSource("commands", "timers.commands")
                .addProcessor("timers", Timers::new, "commands")
                .addStateStore(store(TIMES), "timers")
                .addStateStore(store(TIMERS), "timers")
                .<byte[], Timer>addSink("deliveries", (key, timer, where) -> timer.to(), bytes,
                        (topic, timer) -> timer.value(), "timers");
    }

    private static Properties settings(String brokers, String folder, String standbys) {
        var settings = new Properties();
        settings.putAll(Map.of(
                "application.id", "streams-timers",
                "bootstrap.servers", brokers,
                "state.dir", folder,
                "processing.guarantee", "exactly_once_v2", // commits each 100 ms
                "num.standby.replicas", standbys,
                "num.stream.threads", Runtime.getRuntime().availableProcessors(),
                "poll.ms", 10, // or a thread without commands delivers each 100 ms only
                "default.key.serde", Serdes.ByteArraySerde.class,
                "default.value.serde", Serdes.ByteArraySerde.class));
        settings.putAll(Map.of(
                "consumer.auto.offset.reset", "earliest",
                "consumer.session.timeout.ms", 6_000,
                "consumer.heartbeat.interval.ms", 2_000,
                "producer.transaction.timeout.ms", 6_000,
                "producer.batch.size", 262_144));
        return settings;
    }

    private static String metrics(KafkaStreams streams) {
        var page = new StringBuilder();
        page.append("timingwheel_scheduled_total ").append(scheduled.sum()).append('\n');
        page.append("timingwheel_cancelled_total ").append(cancelled.sum()).append('\n');
        ready.forEach(number -> line(page, "ready", number, 1));
        for (Map.Entry<Integer, LagInfo> lag :
                streams.allLocalStorePartitionLags().getOrDefault(TIMERS, Map.of()).entrySet())
            if (!ready.contains(lag.getKey()))
                line(page, "standby_lag", lag.getKey(), lag.getValue().offsetLag());
        return page.toString();
    }

    private static void line(StringBuilder page, String name, int partition, long value) {
        page.append("timingwheel_" + name + "{partition=\"" + partition + "\"} " + value + '\n');
    }

    public static void main(String[] arguments) throws Exception {
        var streams = new KafkaStreams(topology(), settings(arguments[0], arguments[2], arguments[3]));
        // Without this others would wait for the session time-out.
        var leaving = CloseOptions.groupMembershipOperation(
                CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(leaving)));
        streams.start();
        var server = HttpServer.create(
                new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[1])), 0);
        server.createContext("/metrics", exchange -> {
            byte[] page = metrics(streams).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, page.length);
            exchange.getResponseBody().write(page);
            exchange.close();
        });
        server.start();
    }
}
