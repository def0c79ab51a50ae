import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.stream.Collectors.joining;

import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;

/**
 * The Java kit of leaseproof: the puppet, the worker's own line, and the control loop. Copy this one file.
 *
 * <p>Java 17 or newer, without dependencies. docs/protocol.md has what goes over the lines: one JSON object each, both
 * ways. The witness's address, the arm's token and the worker's name come from the environment that the bench gives.
 *
 * <pre>
 *   a worker's handler      Leaseproof.obey(job, attempt, Tools.NONE)
 *   when it takes jobs      Line line = Leaseproof.ready(), and then line.renewed(...), line.outcome(...)
 *   the control process     Leaseproof.control(Map.of("enqueue", request -> ...))
 * </pre>
 */
public final class Leaseproof {
    private Leaseproof() {}

    /** The witness ordered a failure. Its kind is transient, permanent or rate-limited; {@code retryIn} may be null. */
    public static final class OrderedFailure extends RuntimeException {
        public final String kind;
        public final Duration retryIn;

        public OrderedFailure(String kind, String text, Duration retryIn) {
            super(text);
            this.kind = kind;
            this.retryIn = retryIn;
        }
    }

    /** An order that this adapter, or this kit, can't obey: the adapter's fault, and the witness is told so. */
    public static final class Unable extends RuntimeException {
        Unable(String text) {
            super(text);
        }
    }

    /**
     * What a queue gives its handlers, null where it gives nothing; a puppet that is ordered to use it does.
     *
     * @param key the job's idempotency key
     * @param lost whether the job is not this worker's any more
     * @param once says whether an effect is the first of its key
     * @param connection takes one of the handlers' pool; to close it gives it back
     * @param tick the tick of the schedule that the job is for
     */
    public record Tools(
            String key, BooleanSupplier lost, Once once, Callable<? extends AutoCloseable> connection, String tick) {
        public static final Tools NONE = new Tools(null, null, null, null, null);
    }

    /** An idempotency table. */
    public interface Once {
        void guard(String key, Effect effect) throws Exception;
    }

    /** What it guards; when it is not the first of its key, none is made. */
    public interface Effect {
        void make(boolean first) throws IOException;
    }

    /** One connection to the witness; its first message says who is speaking. */
    public static final class Line implements AutoCloseable {
        private final Socket socket;
        private final InputStream orders;

        private Line(String event, Map<String, Object> hello) throws IOException {
            String[] address = System.getenv("LEASEPROOF_WITNESS").split(":");
            socket = new Socket(address[0], Integer.parseInt(address[1]));
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(100);
            orders = new BufferedInputStream(socket.getInputStream());
            hello.put("token", System.getenv("LEASEPROOF_TOKEN"));
            hello.put("worker", System.getenv("LEASEPROOF_WORKER"));
            hello.put("pid", ProcessHandle.current().pid());
            say(event, hello);
        }

        /** Sends one message; safe from several threads. */
        private synchronized void say(String event, Map<String, Object> message) throws IOException {
            message.put("event", event);
            socket.getOutputStream().write((write(message) + "\n").getBytes(UTF_8));
        }

        /** A heartbeat was answered: which jobs, by the bench's names, are still this worker's and which are not. */
        public void renewed(List<String> kept, List<String> lost) throws IOException {
            say("renewed", fields("kept", kept, "lost", lost));
        }

        /** The queue took the finish of a job, or refused it. The attempt is null where it is not known. */
        public void outcome(String job, Integer attempt, boolean accepted) throws IOException {
            say("outcome", fields("job", job, "attempt", attempt, "accepted", accepted));
        }

        /** A reclaim of the worker's own put these jobs back, by the queue's ids. */
        public void reclaimed(List<String> ids) throws IOException {
            say("reclaimed", fields("ids", ids));
        }

        /** The next order. To be interrupted ends the wait, as it ends a sleep; half an order is none. */
        private Map<String, Object> order() throws IOException, InterruptedException {
            ByteArrayOutputStream line = new ByteArrayOutputStream();
            while (true) {
                try {
                    int next = orders.read();
                    if (next < 0) throw new EOFException("the witness hung up in the middle of a job");
                    if (next == '\n') return parse(line.toString(UTF_8));
                    line.write(next);
                } catch (SocketTimeoutException noneYet) {
                    if (Thread.interrupted()) throw new InterruptedException();
                }
            }
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    /** Says that this worker takes jobs from now on. Keep the line as long as the process lives. */
    public static Line ready() throws IOException {
        return new Line("ready", fields());
    }

    /**
     * Runs one job as the witness orders; returns when it says finish.
     *
     * @param job the name that the bench put into the payload
     * @param attempt counts from 1; null where the queue does not know it
     * @throws OrderedFailure when the witness orders a failure
     * @throws Unable when it orders what can't be done
     * @throws IOException when it is gone
     * @throws InterruptedException when the thread is interrupted
     */
    public static void obey(String job, Integer attempt, Tools tools) throws Exception {
        Map<String, Object> hello = fields("job", job, "attempt", attempt);
        if (tools.tick != null) hello.put("tick", tools.tick);
        List<AutoCloseable> borrowed = new ArrayList<>();
        try (Line line = new Line("started", hello)) {
            try {
                while (follow(line, line.order(), tools, borrowed)) {}
            } catch (Unable unable) {
                line.say("unable", fields("text", unable.getMessage()));
                throw unable;
            } finally {
                for (AutoCloseable each : borrowed) each.close();
            }
        }
    }

    /** Does what is ordered; says whether there is more to come. */
    private static boolean follow(Line line, Map<String, Object> order, Tools tools, List<AutoCloseable> borrowed)
            throws Exception {
        String what = get(order, "order");
        Duration lasts = seconds(get(order, "seconds"));
        switch (what) {
            case "finish" -> {
                line.say("finished", fields());
                return false;
            }
            case "fail" -> {
                line.say("raised", fields("error", order.get("text")));
                throw new OrderedFailure(get(order, "kind"), get(order, "text"), seconds(get(order, "retry_in")));
            }
            case "effect" -> effect(line, get(order, "key"), get(order, "guard"), tools);
            case "borrow" -> {
                borrowed.add(given(tools.connection, "gives its handlers no connection").call());
                line.say("borrowed", fields());
            }
            case "clock" -> line.say("clock", fields("wall", System.currentTimeMillis() / 1e3));
            case "sleep", "block" -> Thread.sleep(lasts.toMillis());
            case "spin" -> {
                long start = System.nanoTime();
                while (System.nanoTime() - start < lasts.toNanos()) {}
            }
            case "exit" -> Runtime.getRuntime().halt(Leaseproof.<Number>get(order, "status").intValue());
            case "hold" -> {}
            default -> throw new Unable("this kit does not know the order " + what);
        }
        return true;
    }

    /** Makes an effect, guarded as it is ordered. */
    private static void effect(Line line, String key, String guard, Tools tools) throws Exception {
        Effect effect = first -> line.say(first ? "effect" : "withheld", fields("key", key));
        switch (guard == null ? "" : guard) {
            case "" -> effect.make(true);
            case "key" -> {
                String under = given(tools.key, "gives its handlers no idempotency key");
                line.say("effect", fields("key", key, "under", under));
            }
            case "once" -> given(tools.once, "has no idempotency table").guard(key, effect);
            case "owner" -> {
                BooleanSupplier lost = given(tools.lost, "does not tell its handlers that a job is lost");
                effect.make(!lost.getAsBoolean());
            }
            default -> throw new Unable("this kit does not know the guard " + guard);
        }
    }

    private static <T> T given(T tool, String without) {
        if (tool == null) throw new Unable("this adapter " + without);
        return tool;
    }

    private static Duration seconds(Number count) {
        return count == null ? null : Duration.ofNanos(Math.round(count.doubleValue() * 1e9));
    }

    private static Map<String, Object> fields(Object... pairs) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) fields.put((String) pairs[i], pairs[i + 1]);
        return fields;
    }

    /** Answers one kind of request. It gets the request as it came, and returns the answer (null: an empty one). */
    public interface Handler {
        Map<String, ?> answer(Map<String, Object> request) throws Exception;
    }

    /**
     * Answers the bench's requests, until it says stop or closes stdin: one handler each, by its name.
     *
     * <p>What a handler throws becomes the answer's error, and its stack trace goes to the log. So does all that is
     * printed: from now on, stdout is for answers alone.
     */
    public static void control(Map<String, Handler> requests) throws IOException {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        for (String line; (line = lines.readLine()) != null; ) {
            Map<String, Object> request = parse(line);
            answers.print(write(answer(requests, request)) + "\n");
            answers.flush();
            if (request.get("request").equals("stop")) return;
        }
    }

    private static Map<String, Object> answer(Map<String, Handler> requests, Map<String, Object> request) {
        Object id = request.get("id");
        String name = get(request, "request");
        try {
            Handler handler = requests.get(name);
            if (handler == null && !name.equals("stop")) throw new Unable("this adapter has no `" + name + "`");
            Map<String, ?> answer = handler == null ? null : handler.answer(request);
            return fields("id", id, "answer", answer == null ? Map.of() : answer);
        } catch (Throwable thrown) { // An error, too, such as a class that is not found.
            thrown.printStackTrace();
            return fields("id", id, "error", thrown.toString());
        }
    }

    /** A field of an object, as the kind that it is taken for; null where there is none. */
    @SuppressWarnings("unchecked")
    public static <T> T get(Map<String, Object> object, String field) {
        return (T) object.get(field);
    }

    /** A JSON object as maps, lists, strings, longs, doubles, booleans and nulls. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> parse(String text) {
        return (Map<String, Object>) new Parser(text).value();
    }

    /** Reads what JSON writers write; it is no judge of what they should not. */
    private static final class Parser {
        private final String text;
        private int at;

        private Parser(String text) {
            this.text = text;
        }

        private Object value() {
            if (taken('{')) {
                Map<String, Object> object = new LinkedHashMap<>();
                for (boolean more = !taken('}'); more; more = another('}')) {
                    String key = (String) value();
                    expect(':');
                    object.put(key, value());
                }
                return object;
            }
            if (taken('[')) {
                List<Object> array = new ArrayList<>();
                for (boolean more = !taken(']'); more; more = another(']')) array.add(value());
                return array;
            }
            return taken('"') ? string() : word();
        }

        private String string() {
            StringBuilder string = new StringBuilder();
            for (char c; (c = text.charAt(at++)) != '"'; string.append(c)) {
                if (c != '\\') continue;
                c = text.charAt(at++);
                int control = "bfnrt".indexOf(c);
                if (control >= 0) {
                    c = "\b\f\n\r\t".charAt(control);
                } else if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at, at + 4), 16);
                    at += 4;
                }
            }
            return string.toString();
        }

        private Object word() {
            int start = at;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            return switch (word) {
                case "true" -> true;
                case "false" -> false;
                case "null" -> null;
                default -> word.matches("-?\\d+") ? (Object) Long.valueOf(word) : (Object) Double.valueOf(word);
            };
        }

        /** Takes the next character if it is this one, and the space before it in any case. */
        private boolean taken(char wanted) {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            boolean taken = at < text.length() && text.charAt(at) == wanted;
            if (taken) at++;
            return taken;
        }

        private boolean another(char end) {
            if (taken(',')) return true;
            expect(end);
            return false;
        }

        private void expect(char wanted) {
            if (!taken(wanted)) throw new IllegalArgumentException("no " + wanted + " at " + at + " of " + text);
        }
    }

    /** JSON in ASCII, on one line: of maps, collections, numbers, booleans and nulls; of all else, its string. */
    public static String write(Object value) {
        if (value == null || value instanceof Number || value instanceof Boolean) return String.valueOf(value);
        if (value instanceof Map<?, ?> map) {
            return map.entrySet().stream()
                    .map(entry -> write(entry.getKey().toString()) + ":" + write(entry.getValue()))
                    .collect(joining(",", "{", "}"));
        }
        if (value instanceof Collection<?> list) {
            return list.stream().map(Leaseproof::write).collect(joining(",", "[", "]"));
        }
        return value.toString().chars()
                .mapToObj(c -> c == '"' || c == '\\' ? "\\" + (char) c
                        : c < ' ' || c > '~' ? String.format("\\u%04x", c) : Character.toString(c))
                .collect(joining("", "\"", "\""));
    }
}
