import ServerRig
import Testing

@Suite("resolve-test with a configuration file")
struct ConfigurationFileTests {
    private static let text = """
        version: 1
        mappings:
          one.test: [127.0.0.2]
          one.test:8443: [127.0.0.3]
        """

    @Test("--config and HTTPDNS_CONFIG lead to the file, the flag wins, and the source has file and line")
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

    @Test("--map replaces the file's rule for every port")
    func overridden() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(Self.text, to: "httpdns.yaml")
        let result = try await Program.run([
            "resolve", "one.test", "one.test:8443", "--config", file, "--map", "one.test=127.0.0.4",
        ])
        #expect(result.output.split(separator: "\n").allSatisfy { $0.contains("127.0.0.4") })
    }

    @Test("check says what a good file sets")
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

    @Test("check lists each mistake with line and column, and exits with 2")
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
        #expect(lines.last == "resolve-test: 2 mistakes; nothing of the file is used")

        let json = try await Program.run(["check", file, "--json"])
        #expect(json.status == 2)
        #expect(json.output == "")
        #expect(json.error.contains(#""mistakes":[{"file":"\#(file)","line":2,"column":1,"#))
    }

    @Test("other commands refuse a bad file on one line that leads to check")
    func refused() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("version: 1\nmapings: {}\nmappings:\n  one.test: [127.1]\n", to: "bad.yaml")
        let result = try await Program.run(["resolve", "one.test", "--config", file])
        #expect(result.status == 2)
        #expect(result.error.split(separator: "\n").count == 1)
        #expect(result.error.hasPrefix("resolve-test: \(file):2:1: "))
        #expect(result.error.contains("1 more mistake: see resolve-test check \(file)"))
        let missing = try await Program.run(["check", "\(folder.path)/none.yaml"])
        #expect(missing.status == 2)
        #expect(missing.error.contains("none.yaml"))
    }

    @Test("what export prints as JSON is a file that check accepts and resolve obeys")
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
