// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO && CommandLine && YAML
import Foundation
import ServerRig
import Testing

@Suite(
    "The agent's hook for systemd-resolved",
    .enabled(if: Command.find("/usr/bin/python3") != nil && !ServerRig.isLeftOut),
    .timeLimit(.minutes(1))
)
struct AgentHookTests {
    /// What systemd-resolved does: it watches the filter on one connection, and asks on others.
    private static let client = #"""
        import base64, json, socket, struct, subprocess, sys
        folder, program = sys.argv[1:3]
        class Connection:
            def __init__(self):
                self.socket = socket.socket(socket.AF_UNIX); self.socket.connect(folder + "/hook"); self.rest = b""
            def send(self, method, parameters={}, **more):
                call = {"method": "io.systemd.Resolve.Hook." + method, "parameters": parameters, **more}
                self.socket.sendall(json.dumps(call).encode() + b"\0")
            def read(self):
                while b"\0" not in self.rest:
                    part = self.socket.recv(65536)
                    if not part: raise EOFError
                    self.rest += part
                message, self.rest = self.rest.split(b"\0", 1)
                return json.loads(message)
        def text(answer):
            raw = base64.b64decode(answer["raw"], validate=True)
            labels, at = [], 0
            while raw[at]: labels.append(raw[at + 1:at + 1 + raw[at]].decode()); at += raw[at] + 1
            kind, number, life, length = struct.unpack(">HHIH", raw[at + 1:at + 11])
            data = raw[at + 11:]
            assert number == 1 and length == len(data)
            return f"{'.'.join(labels)} {life} {socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, data)}"
        def ask(*keys):
            asking.send("ResolveRecord", {"question": [{"key": {"class": 1, "type": t, "name": n}} for n, t in keys]})
            reply = asking.read()["parameters"]
            print(reply.get("rcode"), *[text(a) for a in reply.get("answer", [])], sep=" | ")
        watching, asking = Connection(), Connection()
        watching.send("QueryFilter", more=True)
        def filter():
            reply = watching.read()
            print(reply["parameters"]["filterDomains"], reply["continues"])
        filter()
        ask(("mapped.test", 1), ("mapped.test", 28))
        ask(("mapped.test", 28))
        ask(("bücher.test", 1), ("xn--bcher-kva.test", 1))
        ask(("mapped.test", 65))
        ask(("mapped.test", 15))
        ask(("other.test", 1), ("other.test", 28))
        ask(("four.test", 28))
        ask(("a.routed.test", 1))
        def switch(word): subprocess.run([program, "switch", word, "--socket", folder + "/control"], check=True, stdout=subprocess.DEVNULL)
        switch("off"); filter()
        ask(("mapped.test", 1))
        switch("on"); filter()
        file = open(folder + "/httpdns.yaml").read()
        open(folder + "/new", "w").write(file.replace("four.test", "five.test"))
        import os
        os.rename(folder + "/new", folder + "/httpdns.yaml"); filter()
        ask(("five.test", 1))
        asking.send("QueryFilter"); print(sorted(asking.read()))
        """#

    @Test("It says what to ask for, again after each change, and answers with whole records")
    func hook() async throws {
        let folder = try TemporaryFolder()
        let file = """
            version: 1
            providers: { zone: { kind: dns, servers: "127.0.0.1:1", answer_scope: loopback } }
            routes: { "*.routed.test": { providers: [zone], fallback: none } }
            mappings:
              mapped.test: [192.0.2.1, "2001:db8::1"]
              xn--bcher-kva.test: { addresses: [192.0.2.2], ttl: 5s }
              four.test: [192.0.2.3]
              plain.test: system
            agent: { hook: \(folder.path)/hook, control: \(folder.path)/control }
            """
        try Data(file.utf8).write(to: URL(fileURLWithPath: folder.path + "/httpdns.yaml"))
        try Data(Self.client.utf8).write(to: URL(fileURLWithPath: folder.path + "/client.py"))
        let script = """
            "$1" agent --config "$0/httpdns.yaml" > "$0/output" 2> "$0/errors" & AGENT=$!
            while ! grep -qs ready "$0/output"; do kill -0 $AGENT || { cat "$0/errors"; exit 99; }; sleep 0.02; done
            /usr/bin/python3 "$0/client.py" "$0" "$1"
            kill $AGENT; wait $AGENT
            """
        let program = try BuiltProduct.path("resolve-test")
        let result = try await Command("bash", ["-c", script, folder.path, program]).run()
        let zones = "'four.test', 'mapped.test', 'routed.test', 'xn--bcher-kva.test'"
        #expect(
            result.output == """
                [\(zones)] True
                0 | mapped.test 30 192.0.2.1 | mapped.test 30 2001:db8::1
                0 | mapped.test 30 2001:db8::1
                0 | xn--bcher-kva.test 5 192.0.2.2
                0
                None
                None
                0
                2
                [] True
                None
                [\(zones)] True
                [\(zones.replacing("four", with: "five"))] True
                0 | five.test 30 192.0.2.3
                ['parameters']

                """,
            "\(result)"
        )
    }
}
#endif
