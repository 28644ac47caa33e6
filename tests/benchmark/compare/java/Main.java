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
 * The Java rivals under the loads of main.cpp, in one virtual machine. The arguments are jars with
 * the group of each (kafka=/path/to.jar); each line of standard input is a command line, each
 * answer a line of JSON.
 */
public final class Main {
    private interface Runner {
        Map<String, Double> run(Request request) throws Exception;
    }

    private record Contender(String title, String usage, boolean hasTick, long largest,
                             Runner runner) {}

    private static final long ANY = 100_000_000L;

    /**
     * Everything in `compare.own` is loaded anew for each contender: so two versions of Netty fit
     * into one machine, and the compiler sees the loads with one timer only, as in a program that
     * uses that timer.
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
        var urls = new LinkedHashMap<String, List<URL>>();
        for (String argument : arguments) {
            String[] jar = argument.split("=", 2);
            urls.computeIfAbsent(jar[0], group -> new ArrayList<>(List.of(classes)))
                    .add(Path.of(jar[1]).toUri().toURL());
        }
        var all = new LinkedHashMap<String, Contender>();
        for (String version : List.of("4.1", "4.2")) {
            // Ten million take Netty most of a minute to stop: one of the two versions will do.
            long largest = version.equals("4.1") ? 1_000_000 : ANY;
            all.put("Netty-" + version, new Contender("Netty " + version,
                    "`HashedWheelTimer`, 512 slots", true, largest,
                    runner("NettyTimer", urls.get("netty-" + version))));
        }
        all.put("Kafka", new Contender("Kafka",
                "`SystemTimer`, 20 slots a level, driven by its `SystemTimerReaper`; tasks run on "
                        + "its executor's thread", true, ANY,
                runner("KafkaTimer", urls.get("kafka"))));
        var jdk = List.of(classes);
        all.put("JdkTimer", new Contender("JDK Timer",
                "`java.util.Timer`; a cancelled task stays in its heap until its time comes "
                        + "(`purge()`, which is O(n), is not called)", false, ANY,
                runner("JdkTimer", jdk)));
        all.put("JdkExecutor", new Contender("JDK executor",
                "`ScheduledThreadPoolExecutor` of one thread with `setRemoveOnCancelPolicy(true)`",
                false, ANY, runner("RemovingExecutor", jdk)));
        all.put("JdkExecutorKeeping", new Contender("JDK executor, keeping",
                "the same with the default policy: a cancelled task stays until its time comes",
                false, ANY, runner("KeepingExecutor", jdk)));
        all.put("DelayQueue", new Contender("JDK DelayQueue",
                "a `DelayQueue` that one thread takes from; cancelled by `remove(Object)`, which "
                        + "searches", false, 1_000_000, runner("DelayQueueTimer", jdk)));
        return all;
    }

    private static String describe(Map<String, Contender> contenders) {
        String loads = Loads.NAMES.stream().map(name -> "\"" + name + "\"")
                .collect(Collectors.joining(","));
        return contenders.entrySet().stream().map(entry -> {
            Contender c = entry.getValue();
            return String.format(
                    "{\"id\":\"%s\",\"title\":\"%s\",\"usage\":\"%s\",\"hasTick\":%s,"
                            + "\"largest\":%d,\"loads\":[%s]}",
                    entry.getKey(), c.title(), c.usage(), c.hasTick(), c.largest(), loads);
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
