package otlpgen
import ("testing";"fmt";"github.com/tracejury/tracejury/pipeline/otlp")
func TestEv(t *testing.T){
 fmt.Println(otlp.ParseEvents(`[{"at_unix_nano":1,"attributes":{"a":1},"name":"x"}]`))
 fmt.Println(otlp.ParseEvents(`[{"at_unix_nano":1794000000000000000,"attributes":{"a":"b"},"name":"x"},{"at_unix_nano":1,"attributes":{},"name":"x"}]`))
 fmt.Println(otlp.ParseEvents(`[]`))
 fmt.Println(otlp.ParseEvents(``))
}
