// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

struct ConfigurationFileTests {
    private static let text = """
        version: 1
        mappings:
          one.test: [127.0.0.2]
          one.test:8443: [127.0.0.3]
        """

    @Test("The flag --config wins over HTTPDNS_CONFIG; the source has file and line")
    func sources() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Self.text, to: "httpdns.yaml")
        let other = try folder.write("version: 1\nmappings: { one.test: [127.0.0.9] }\n", to: "other.yaml")
        for environment in [["HTTPDNS_CONFIG": file], ["HTTPDNS_CONFIG": other]] {
            let flag = environment["HTTPDNS_CONFIG"] == other ? ["--config", file] : []
            let result = try await Program.run(["resolve", "one.test"] + flag, environment: environment)
            #expect(result.status == 0)
            #expect(result.output.hasPrefix("one.test   127.0.0.2   mapping  \(file):3"))
        }
    }

    @Test("The flag --map replaces the file's rule for every port")
    func overridden() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Self.text, to: "httpdns.yaml")
        let result = try await Program.run([
            "resolve", "one.test", "one.test:8443", "--config", file, "--map", "one.test=127.0.0.4",
        ])
        #expect(result.output.split(separator: "\n").allSatisfy { $0.contains("127.0.0.4") })
    }

    @Test("The command check shows the settings of a good file")
    func goodFile() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Self.text, to: "httpdns.yaml")
        let result = try await Program.run(["check", file])
        #expect(result.status == 0)
        #expect(result.output == "\(file)   valid   0 providers, 0 routes, 2 mappings\n")
        let json = try JSONObject(try await Program.run(["check", file, "--json"]).output)
        #expect(json["valid"] == .integer(1))
        #expect(json.texts("mappings") == ["one.test", "one.test:8443"])
    }

    @Test("The command check lists each error with line and column, and exits with 2")
    func badFile() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\nmapings: {}\nmappings:\n  one.test: [127.1]\n", to: "bad.yaml")
        let result = try await Program.run(["check", file])
        #expect(result.status == 2)
        #expect(result.output == "")
        let lines = result.error.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        #expect(lines.first?.hasPrefix("\(file):2:1: ") == true)
        #expect(lines.dropFirst().first?.hasPrefix("\(file):4:") == true)
        #expect(lines.last == "resolve-test: 2 errors; the file is not used")

        let json = try await Program.run(["check", file, "--json"])
        #expect(json.status == 2)
        #expect(json.output == "")
        #expect(json.error.contains(#""issues":[{"column":1,"file":"\#(file)","hint":"#))
        #expect(json.error.contains(#","line":2,"message":"#))
    }

    @Test("The command check refuses hidden nested aliases within seconds")
    func nestedAliases() async throws {
        let folder = try TemporaryFolder()
        let levels = (1...40).map { level in
            "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", "))]"
        }
        let text = "{ x: \"\n#\", a0: &a0 [x], \(levels.joined(separator: ", ")) }"
        let file = try folder.write(text, to: "bomb.yaml")
        let run = try await Program.command(["check", file]).run(within: .seconds(60))
        #expect(run.status == 2 && run.error.contains("\"*a0\" is a YAML alias"), "\(run)")
    }

    @Test("The command check -v shows the proxy without its login")
    func proxy() async throws {
        let folder = try TemporaryFolder()
        try folder.write("canary", to: "password")
        let file = try folder.write(
            "version: 1\nclient: { proxy: { url: http://proxy.test:3128, user: me, password: { file: password }, except: [a.test] } }\n",
            to: "httpdns.yaml"
        )
        chmod("\(folder.path)/password", 0o600)
        let run = try await Program.run(["check", file, "-v"])
        #expect(run.output.contains(#/proxy +http://proxy.test:3128 except a.test\n/#), "\(run)")
        #expect(!run.output.contains("canary") && !run.output.contains("me "))
        let json = try JSONObject(try await Program.run(["check", file, "--json"]).output)
        #expect(json["proxy"] == .text("http://proxy.test:3128 except a.test"))
    }

    @Test("The command check warns of entries of no_proxy that match no host")
    func proxyExceptions() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\nclient: { proxy: environment }\n", to: "httpdns.yaml")
        let run = try await Program.run(["check", file, "-v"], environment: ["no_proxy": "*.one.test,two.test"])
        #expect(run.status == 0)
        #expect(run.error == "warning: no_proxy: the entry \"*.one.test\" matches no host\n")
    }

    @Test("The command check warns of unused providers and files that others may write")
    func warnings() async throws {
        let folder = try TemporaryFolder()
        let provider = "{ kind: doh, url: https://doh.test/dns-query, bootstrap: [192.0.2.53] }"
        let file = try folder.write(
            "version: 1\nproviders: { one: \(provider), two: \(provider) }\nroutes: { a.test: { providers: [two] } }\n",
            to: "httpdns.yaml"
        )
        let run = try await Program.run(["check", file])
        #expect(run.status == 0)
        #expect(run.error == "warning: no route names the provider one, so it is never asked\n")
        chmod(file, 0o602)
        let open = try await Program.run(["check", file])
        let reason = "others may write it (mode 0602); chmod go-w \(file)"
        #expect(open.status == 0 && open.error.hasSuffix("warning: \(file): \(reason)\n"), "\(open)")
        let json = try JSONObject(try await Program.run(["check", file, "--json"]).output)
        #expect(json.texts("warnings").count == 2)
        try folder.write("version: 1\nfile_permissions: refuse\n", to: "httpdns.yaml")
        let refused = try await Program.run(["check", file])
        #expect(refused.status == 2 && refused.error.contains("file_permissions: refuse, and others may write it"))
    }

    @Test("The file of check is its argument, that of --config, or that of HTTPDNS_CONFIG")
    func checkedFile() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\n", to: "httpdns.yaml")
        let given = try await Program.run(["check", file])
        let option = try await Program.run(["check", "--config", file])
        let environment = try await Program.run(["check"], environment: ["HTTPDNS_CONFIG": file])
        #expect(given.status == 0 && given.output.hasPrefix("\(file)   valid"), "\(given)")
        #expect(option.status == 0 && option.output == given.output, "\(option)")
        #expect(environment.status == 0 && environment.output == given.output, "\(environment)")
    }

    @Test("Other commands refuse a bad file on one line that leads to check")
    func refused() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\nmapings: {}\nmappings:\n  one.test: [127.1]\n", to: "bad.yaml")
        let result = try await Program.run(["resolve", "one.test", "--config", file])
        #expect(result.status == 2)
        #expect(result.error.split(separator: "\n").count == 1)
        #expect(result.error.hasPrefix("resolve-test: \(file):2:1: "))
        #expect(result.error.contains("1 more error: see resolve-test check \(file)"))
        let missing = try await Program.run(["check", "\(folder.path)/none.yaml"])
        #expect(missing.status == 2)
        #expect(missing.error.contains("none.yaml"))
    }

    @Test("The JSON of export is a file that check accepts and resolve uses")
    func export() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Self.text, to: "httpdns.yaml")
        let exported = try await Program.run(["export", file, "--json"])
        let copy = try folder.write(exported.output, to: "copy.json")
        #expect(try await Program.run(["check", copy]).status == 0)
        let result = try await Program.run(["resolve", "one.test:8443", "--config", copy])
        #expect(result.output.contains("127.0.0.3"))
    }
}
#endif
