--- 1 of 3
	for number := 1; ; number++ {
		id := fmt.Sprintf("%06d", number)
		if err := os.Mkdir(at("ids", id), 0o700); errors.Is(err, os.ErrExist) {
			continue
		} else if err != nil {
			return "", err
		}
		payload, _ := json.Marshal(map[string]string{"job": job})
		if err := os.WriteFile(at("new"), payload, 0o600); err != nil {
			return "", err
		}
		return strconv.Itoa(number), os.Rename(at("new"), at("queued", id))
	}
--- 2 of 3
	stopping := make(chan os.Signal, 1)
	signal.Notify(stopping, syscall.SIGTERM)
	if err := ready(); err != nil {
		return err
	}
	for {
		waiting, _ := os.ReadDir(filepath.Dir(at("queued", "any")))
		pause := time.Duration(0)
		if len(waiting) == 0 {
			pause = time.Duration(poll * float64(time.Second))
		}
		select {
		case <-stopping:
			return nil
		case <-time.After(pause):
		}
		if len(waiting) == 0 {
			continue
		}
		id := waiting[0].Name()
		if os.Rename(at("queued", id), at("running", id)) != nil {
			continue // another was faster
		}
		var payload struct{ Job string }
		text, _ := os.ReadFile(at("running", id))
		json.Unmarshal(text, &payload)
		state := "done"
		if err := run(context.Background(), payload.Job, 0); err != nil {
			var ordered *leaseproof.OrderedFailure
			if !errors.As(err, &ordered) {
				return err
			}
			state = "failed"
		}
		if err := os.Rename(at("running", id), at(state, id)); err != nil {
			return err
		}
	}
--- 3 of 3
	number, err := strconv.Atoi(id)
	for _, state := range []string{"queued", "running", "done", "failed"} {
		if _, err := os.Stat(at(state, fmt.Sprintf("%06d", number))); err == nil {
			return state, nil
		}
	}
	return "absent", err
}

func at(parts ...string) string {
	place := filepath.Join(append([]string{os.Getenv("LEASEPROOF_FOLDER")}, parts...)...)
	os.MkdirAll(filepath.Dir(place), 0o700)
	return place
