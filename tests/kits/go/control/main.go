// The control program of the Go kit; ../../cases.py says what it does.
package main

import (
	"encoding/json"
	"fmt"
	"log"

	"leaseproof"
)

type object map[string]any

// text is a field that Request does not have.
func text(request leaseproof.Request) string {
	var fields struct{ Text string }
	if err := json.Unmarshal(request.Raw, &fields); err != nil {
		panic(err)
	}
	return fields.Text
}

func main() {
	err := leaseproof.Control(leaseproof.Requests{
		"echo": func(request leaseproof.Request) (any, error) {
			var got object
			err := json.Unmarshal(request.Raw, &got)
			delete(got, "id")
			delete(got, "request")
			return object{"got": got}, err
		},
		"nothing": func(leaseproof.Request) (any, error) { return nil, nil },
		"fail":    func(request leaseproof.Request) (any, error) { panic(text(request)) },
		"print": func(request leaseproof.Request) (any, error) {
			fmt.Println(text(request))
			return nil, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
}
