import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/** Schedules a timer of timingwheel-kafka, pushes it back and cancels it: TenLines BROKERS ID... */
public class TenLines {
    private final KafkaProducer<String, String> producer;

    private TenLines(String brokers) {
        // Idempotence and the partitioner that is needed are Java's defaults.
        producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", brokers), new StringSerializer(), new StringSerializer());
    }

    private void command(String name, String timer, String payload, Map<String, String> headers) {
        var record = new ProducerRecord<>("timers.commands", timer, payload);
        record.headers().add("timingwheel-command", name.getBytes(StandardCharsets.UTF_8));
        headers.forEach((header, text) -> record.headers()
                .add("timingwheel-" + header, text.getBytes(StandardCharsets.UTF_8)));
        producer.send(record);
    }

    private static String after(int seconds) {
        return String.valueOf(System.currentTimeMillis() + 1000L * seconds);
    }

    public static void main(String[] arguments) {
        List<String> orders = Arrays.asList(arguments).subList(1, arguments.length);
        var timers = new TenLines(arguments[0]);
        for (String order : orders) {
            // A reply says what became of a command; it is for those who ask.
            timers.command("schedule", order, "{\"total\": \"12.50\"}",
                    Map.of("at", after(1800), "to", "orders.expired", "reply", "1"));
            timers.command("push-back", order, null, Map.of("at", after(3600), "reply", "2"));
            timers.command("cancel", order, null, Map.of("reply", "3"));
        }
        timers.producer.close();
    }
}
