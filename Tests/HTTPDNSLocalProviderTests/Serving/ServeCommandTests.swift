// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import ServerRig
import Testing

extension OverTheNetwork {
    /// `resolve-test serve`, as a program of its own.
    struct ServeCommandTests {
        #if LocalProvider
        private static let file = """
            version: 1
            mappings: { img.shop.test: 127.0.0.2 }
            serve: { hosts: { slow.test: { delay: 1ms, fail: 503 } } }
            """

        /// It ends as other commands do.
        @Test(
            "The serve command prints its address and each query, and ends by SIGTERM",
            arguments: [true, false]
        )
        func serving(isJSON: Bool) async throws {
            let folder = try TemporaryFolder()
            let file = try folder.write(Self.file, to: "served.yaml")
            let program = try BuiltProduct.path("resolve-test")
            // The shell plays the service's supervisor: it starts, waits for the line, asks, ends.
            let script = """
                "$0" serve "$1" --port 0 \(isJSON ? "--json" : "") > "$2/out" & pid=$!
                while ! grep -q listening "$2/out"; do sleep 0.05; done
                url=$(grep -o 'http://127.0.0.1:[0-9]*' "$2/out" | head -1)
                "$0" resolve img.shop.test --doh "$url/dns-query" --allow 127.0.0.0/8 --family v4 || echo failed
                curl -s --noproxy '*' "$url/v2/d?id=1&m=0&dn=slow.test" > /dev/null
                while ! grep -q slow.test "$2/out"; do sleep 0.05; done
                kill -TERM $pid; wait $pid; echo "status $?"
                cat "$2/out"
                """
            let result = try await Command("sh", ["-c", script, program, file, folder.path]).run(
                within: .seconds(90)
            )
            #expect(result.output.contains("img.shop.test"), "\(result)")
            #expect(result.output.contains("127.0.0.2") && !result.output.contains("failed\n"), "\(result)")
            #expect(result.output.contains("status 143\n"), "\(result)")
            if isJSON {
                let lines = result.output.split(separator: "\n").filter { $0.hasPrefix("{") }.map { Data($0.utf8) }
                let objects = try lines.map { try JSONSerialization.jsonObject(with: $0) as? [String: Any] }
                #expect(objects.compactMap { $0?["event"] as? String } == ["listening", "query", "query"])
                #expect(objects.last??["outcome"] as? String == "status-503")
                #expect(objects.last??["status"] as? Int == 503)
                #expect((objects.last??["hosts"] as? [String]) == ["slow.test"])
            } else {
                #expect(result.output.contains(#/listening  http:.* 1 mapping of /#))
                #expect(result.output.contains(/[0-9:]{8} doh img\.shop\.test A 200 ok 1 address\n/), "\(result)")
                #expect(
                    result.output.contains(
                        /alibaba-v2 slow\.test v4 503 status-503 after 1\.0 ms \(as the file says\)\n/
                    ),
                    "\(result)"
                )
            }
        }

        /// It exits with 1 for the rest.
        @Test("A failed start prints one line and exits with 2 for files and arguments")
        func failures() async throws {
            let folder = try TemporaryFolder()
            let bad = try folder.write("version: 1\nserve: { hosts: { a.test: { fail: 200 } } }\n", to: "bad.yaml")
            let good = try folder.write("version: 1\n", to: "good.yaml")
            for (arguments, status, word) in [
                ([bad], 2, "bad.yaml:2"), (["/nowhere.yaml"], 2, "/nowhere.yaml"), ([], 2, "FILE"),
                ([good, "--listen", "localhost"], 2, "--listen"),
                ([good, "--key", good], 2, "--certificate and --key"),
                ([good, "--name", "a.test"], 2, "--tls"),
                ([good, "--tls", "--certificate", good, "--key", good], 2, "excludes --tls"),
                ([good, "--certificate", good, "--key", good], 2, "PEM"),
                ([good, "--listen", "192.0.2.1"], 1, "does not have"),
            ] as [([String], Int32, String)] {
                let result = try await Command.resolveTest(["serve"] + arguments).run()
                #expect(result.status == status && result.error.contains(word), "\(arguments): \(result)")
                #expect(result.error.split(separator: "\n").count == 1 && result.output.isEmpty, "\(result)")
            }
        }
        #endif
    }
}
