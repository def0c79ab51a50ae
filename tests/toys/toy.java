--- 1 of 3
        for (int number = 1; ; number++) {
            String id = String.format("%06d", number);
            try {
                java.nio.file.Files.createDirectory(at("ids", id));
            } catch (java.nio.file.FileAlreadyExistsException taken) {
                continue;
            }
            java.nio.file.Files.writeString(at("new"), Leaseproof.write(Map.of("job", job)));
            java.nio.file.Files.move(at("new"), at("queued", id));
            return String.valueOf(number);
        }
--- 2 of 3
        Thread worker = Thread.currentThread();
        boolean[] stopping = {false};
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopping[0] = true;
            try {
                worker.join();
            } catch (InterruptedException end) {
                return;
            }
        }));
        ready.ready();
        while (!stopping[0]) {
            String[] waiting = at("queued", "any").getParent().toFile().list();
            if (waiting == null || waiting.length == 0) {
                Thread.sleep((long) (poll * 1000));
                continue;
            }
            java.util.Arrays.sort(waiting);
            try {
                java.nio.file.Files.move(at("queued", waiting[0]), at("running", waiting[0]));
            } catch (java.nio.file.NoSuchFileException gone) {
                continue; // another was faster
            }
            Map<String, Object> payload = Leaseproof.parse(java.nio.file.Files.readString(at("running", waiting[0])));
            String state = "done";
            try {
                handler.run((String) payload.get("job"), null);
            } catch (Leaseproof.OrderedFailure failure) {
                state = "failed";
            }
            java.nio.file.Files.move(at("running", waiting[0]), at(state, waiting[0]));
        }
--- 3 of 3
        String name = String.format("%06d", Integer.parseInt(id));
        for (String state : List.of("queued", "running", "done", "failed"))
            if (java.nio.file.Files.exists(at(state, name))) return state;
        return "absent";
    }

    static java.nio.file.Path at(String... parts) throws java.io.IOException {
        java.nio.file.Path place = java.nio.file.Path.of(System.getenv("LEASEPROOF_FOLDER"), parts);
        java.nio.file.Files.createDirectories(place.getParent());
        return place;
