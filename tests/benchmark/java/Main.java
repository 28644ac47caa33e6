package compare;

import compare.own.Loads;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;

/**
 * The Java rivals under the loads of main.cpp, in one virtual machine. The arguments are jars; each
 * line of standard input is a command line, each answer a line of JSON.
 */
public final class Main {
    private interface Runner {
        Map<String, Double> run(Request request) throws Exception;
    }

    private record Contender(String title, String usage, Runner runner) {}

    /**
     * Everything in `compare.own` is loaded anew for each contender: so the compiler sees the loads
     * with one timer only, as in a program that uses that timer.
     */
    private static final class OwnLoader extends URLClassLoader {
        OwnLoader(List<URL> urls) {
            super(urls.toArray(new URL[0]), Main.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("compare.own.")) return super.loadClass(name, resolve);
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known != null ? known : findClass(name);
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static Runner runner(String timer, List<URL> urls) throws Exception {
        var loader = new OwnLoader(urls);
        var constructor = loader.loadClass("compare.own." + timer).getConstructor(int.class);
        IntFunction<TimerUnderTest> make = tickMillis -> {
            try {
                return (TimerUnderTest) constructor.newInstance(tickMillis);
            } catch (ReflectiveOperationException problem) {
                throw new IllegalStateException(problem);
            }
        };
        var run = loader.loadClass("compare.own.Loads")
                .getMethod("run", IntFunction.class, Request.class);
        return request -> (Map<String, Double>) run.invoke(null, make, request);
    }

    private static Map<String, Contender> contenders(String[] arguments) throws Exception {
        URL classes = Main.class.getProtectionDomain().getCodeSource().getLocation();
        var urls = new ArrayList<>(List.of(classes));
        for (String jar : arguments) urls.add(Path.of(jar).toUri().toURL());
        var all = new LinkedHashMap<String, Contender>();
        all.put("Netty", new Contender("Netty 4.2", "`HashedWheelTimer`, 512 slots",
                runner("NettyTimer", urls)));
        all.put("Kafka", new Contender("Kafka", "`SystemTimer`, 20 slots a level, driven by its "
                + "`SystemTimerReaper`", runner("KafkaTimer", urls)));
        all.put("JDK", new Contender("JDK", "`ScheduledThreadPoolExecutor` of one thread with "
                + "`setRemoveOnCancelPolicy(true)`", runner("JdkTimer", urls)));
        return all;
    }

    private static String describe(Map<String, Contender> contenders) {
        String loads = Loads.NAMES.stream().map(name -> "\"" + name + "\"")
                .collect(Collectors.joining(","));
        return contenders.entrySet().stream().map(entry -> {
            Contender c = entry.getValue();
            return String.format("{\"id\":\"%s\",\"title\":\"%s\",\"usage\":\"%s\","
                    + "\"loads\":[%s]}", entry.getKey(), c.title(), c.usage(), loads);
        }).collect(Collectors.joining(",", "[", "]"));
    }

    private static String answer(Map<String, Contender> contenders, String line) {
        try {
            Request request = Request.parse(line);
            return contenders.get(request.contender()).runner().run(request).entrySet().stream()
                    .map(value -> "\"" + value.getKey() + "\":" + value.getValue())
                    .collect(Collectors.joining(",", "{", "}"));
        } catch (Throwable problem) {
            Throwable cause = problem.getCause() == null ? problem : problem.getCause();
            return "{\"error\":\"" + cause.toString().replaceAll("[\"\\\\\n]", " ") + "\"}";
        }
    }

    public static void main(String[] arguments) throws Exception {
        var contenders = contenders(arguments);
        var input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            System.out.println(line.equals("--list") ? describe(contenders)
                                                     : answer(contenders, line));
            System.out.flush();
        }
        System.exit(0);
    }
}
