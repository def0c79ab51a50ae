import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** The worker program of the Java kit; ../cases.py says what it does. A SIGTERM interrupts its jobs. */
public final class Worker {
    private static final Set<String> KEYS = new HashSet<>();
    private static final AtomicInteger ASKED = new AtomicInteger();

    private static void say(String job, Object... fields) {
        Map<String, Object> message = new LinkedHashMap<>(Map.of("job", job));
        for (int i = 0; i < fields.length; i += 2) message.put((String) fields[i], fields[i + 1]);
        System.out.println(Leaseproof.write(message));
    }

    private static void once(String key, Leaseproof.Effect effect) throws Exception {
        effect.make(!KEYS.contains(key));
        KEYS.add(key);
    }

    private static void run(String job, Integer attempt, Leaseproof.Tools tools) {
        try {
            Leaseproof.obey(job, attempt, tools);
            say(job, "end", "returned");
        } catch (Leaseproof.OrderedFailure failure) {
            Double retryIn = failure.retryIn == null ? null : failure.retryIn.toNanos() / 1e9;
            say(job, "end", "failed", "kind", failure.kind, "text", failure.getMessage(), "retry_in", retryIn);
        } catch (Exception error) {
            say(job, "end", "error", "text", error.getMessage());
        }
    }

    private static void line() throws Exception {
        try (Leaseproof.Line line = Leaseproof.ready()) {
            line.renewed(List.of("job", "задача"), List.of("other"));
            line.outcome("job", 2, true);
            line.outcome("job", null, false);
            line.reclaimed(List.of("2", "3"));
            System.in.readAllBytes();
        }
    }

    private static void joined(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        String what = arguments[0];
        List<String> jobs = List.of(arguments).subList(1, arguments.length);
        if (what.equals("line")) {
            line();
            return;
        }
        if (what.equals("bare")) {
            run(jobs.get(0), null, Leaseproof.Tools.NONE);
            return;
        }
        List<Thread> threads = new CopyOnWriteArrayList<>();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            for (Thread thread : threads) thread.interrupt();
            for (Thread thread : threads) joined(thread);
        }));
        for (String job : jobs) {
            Callable<AutoCloseable> connection = () -> {
                say(job, "connection", "taken");
                return () -> say(job, "connection", "back");
            };
            String tick = what.equals("tick") ? "2026-10-03T12:00:00+00:00" : null;
            Leaseproof.Tools tools = new Leaseproof.Tools(
                    "key of " + job, () -> ASKED.incrementAndGet() > 1, Worker::once, connection, tick);
            int attempt = threads.size() + 1;
            Thread thread = new Thread(() -> run(job, attempt, tools));
            threads.add(thread);
            thread.start();
            if (!what.equals("together")) joined(thread);
        }
        for (Thread thread : threads) joined(thread);
    }
}
