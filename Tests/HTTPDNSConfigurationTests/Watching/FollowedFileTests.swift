// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import Logging
import ServerRig
import Testing

/// A client that was made of a file, and follows it. Its log is awaited, and no clock.
struct FollowedFileTests {
    /// Log lines as `level message line:column`, one after the other.
    private struct LogLines {
        let lines: AsyncStream<String>
        let logger: Logger

        init() {
            let (lines, continuation) = AsyncStream.makeStream(of: String.self)
            let log = RecordedLog()
            self.lines = lines
            logger = log.logger()
            log.onEvent { event in
                let place = ["line", "column"].compactMap { event.metadata?[$0]?.description }.joined(separator: ":")
                continuation.yield("\(event.level) \(event.message)" + (place.isEmpty ? "" : " at \(place)"))
            }
        }

        /// The next line about the file.
        func next() async -> String {
            for await line in lines where line.contains("configuration file") { return line }
            return "the log ended"
        }
    }

    private let log = LogLines()

    private func withClient(
        _ text: String,
        _ change: (inout HTTPDNSClient.Configuration) throws -> Void = { _ in },
        _ body: (HTTPDNSClient, TemporaryFolder) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try folder.write(text, to: "httpdns.yaml")
        var configuration = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
        configuration.logger = log.logger
        try change(&configuration)
        let client = try await HTTPDNSClient(configuration: configuration)
        do {
            try await body(client, folder)
            try await client.shutdown()
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    private static func mapping(_ address: String) -> String {
        "version: 1\nmappings:\n  a.test: \(address)\n"
    }

    private func address(_ client: HTTPDNSClient, _ host: String = "a.test") async throws -> String {
        try await client.resolve(host).endpoints.first?.address.description ?? "none"
    }

    @Test("A changed mapping serves the next lookup, and the status shows the reload")
    func follows() async throws {
        try await withClient(Self.mapping("203.0.113.1")) { client, folder in
            #expect(try await address(client) == "203.0.113.1")
            #expect(client.reloads.isWatching)
            #expect(client.reloads.lastSuccess == nil)
            // Watching has begun when a reload is answered.
            try await client.reload()
            _ = await log.next()
            let before = client.mappings.generation
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.2"))
            #expect(await log.next() == "debug configuration file reloaded")
            #expect(try await address(client) == "203.0.113.2")
            #expect(client.reloads.lastSuccess?.generation == before + 1)
            #expect(client.reloads.failure == nil)
        }
    }

    /// The warning has line and column.
    @Test("A bad file changes nothing and logs one warning, and one notice once corrected")
    func refuses() async throws {
        try await withClient(Self.mapping("203.0.113.1")) { client, folder in
            try await client.reload()
            _ = await log.next()
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.999"))
            #expect(await log.next() == "warning configuration file refused; previous settings stay in use at 3:11")
            #expect(try await address(client) == "203.0.113.1")
            let failure = try #require(client.reloads.failure)
            #expect(failure.message.contains("httpdns.yaml:3:11: mappings[\"a.test\"]"))
            for _ in 0..<5 { try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.999")) }
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.2"))
            // No second warning came between.
            #expect(await log.next() == "debug configuration file reloaded")
            #expect(await log.next() == "notice configuration file in use again")
            #expect(client.reloads.failure == nil)
            #expect(client.reloads.failures >= 1)
        }
    }

    @Test("A file of nested aliases is refused while it is watched")
    func nestedAliases() async throws {
        try await withClient(Self.mapping("203.0.113.1")) { client, folder in
            try await client.reload()
            _ = await log.next()
            let levels = (1...40).map { level in
                "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", "))]"
            }
            try folder.replace("httpdns.yaml", with: "{ x: \"\n#\", a0: &a0 [x], \(levels.joined(separator: ", ")) }")
            #expect(await log.next() == "warning configuration file refused; previous settings stay in use at 2:27")
            #expect(try await address(client) == "203.0.113.1")
            let time = try await ContinuousClock().measure { try await client.shutdown() }
            // To read all aliases would take years.
            #expect(time < .seconds(60), "\(time)")
        }
    }

    @Test("A file that others may write is reported, or refused")
    func permissions() async throws {
        let strict = "version: 1\nfile_permissions: refuse\nmappings:\n  a.test: 203.0.113.1\n"
        try await withClient(strict) { client, folder in
            try await client.reload()
            #expect(await log.next() == "debug configuration file reloaded")
            // The file that others wrote does not say it any more, and it holds all the same.
            try folder.write(Self.mapping("203.0.113.2"), to: "other.yaml")
            chmod(folder.path("other.yaml"), 0o666)
            rename(folder.path("other.yaml"), folder.path("httpdns.yaml"))
            #expect(await log.next() == "warning configuration file refused; previous settings stay in use")
            #expect(try await address(client) == "203.0.113.1")
            let reason = try #require(client.reloads.failure?.message)
            #expect(
                reason.contains("file_permissions: refuse, and others may write it (mode 0666) (chmod go-w "),
                "\(reason)"
            )
        }
        try await withClient(Self.mapping("203.0.113.1")) { client, folder in
            chmod(folder.path, 0o777)
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.2"))
            #expect(await log.next() == "warning configuration file can be changed by others")
            #expect(await log.next() == "debug configuration file reloaded")
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.3"))
            #expect(await log.next() == "debug configuration file reloaded")
        }
    }

    /// Without watching, only such a reload reads the file again.
    @Test("A reload by code returns its result or throws the file's error")
    func demand() async throws {
        try await withClient(Self.mapping("203.0.113.1"), { $0.watchesFile = false }) { client, folder in
            #expect(!client.reloads.isWatching)
            try folder.write(Self.mapping("203.0.113.2"), to: "httpdns.yaml")
            let result = try await client.reload()
            #expect(result.isChanged)
            #expect(try await address(client) == "203.0.113.2")
            try folder.write("version: 1\nmapings: {}\n", to: "httpdns.yaml")
            do {
                try await client.reload()
                Issue.record("a bad file was taken")
            } catch let error as HTTPDNSClientError {
                #expect(error.code == .configuration)
                #expect(error.message.contains("httpdns.yaml:2:1: \"mapings\" is not a key"))
            }
            #expect(try await address(client) == "203.0.113.2")
        }
    }

    @Test("Settings made in code and overlay mappings survive changes of the file")
    func codeStays() async throws {
        let change: (inout HTTPDNSClient.Configuration) throws -> Void = { settings in
            settings.resolver.mappings[try HTTPDNSMapping.Key("b.test")] = .addresses(["203.0.113.50"])
            settings.timeouts.total = .seconds(7)
        }
        try await withClient(Self.mapping("203.0.113.1"), change) { client, folder in
            try client.mappings.apply { $0["c.test"] = .addresses(["203.0.113.60"]) }
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.2"))
            try await client.reload()
            #expect(try await address(client) == "203.0.113.2")
            #expect(try await address(client, "b.test") == "203.0.113.50")
            #expect(try await address(client, "c.test") == "203.0.113.60")
        }
    }

    @Test("A reload with settings from code survives the next change of the file")
    func reloadStays() async throws {
        try await withClient(Self.mapping("203.0.113.1")) { client, folder in
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.2"))
            try await client.reload()
            // As a program would: the file as it is now, and a change of its own.
            var settings = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
            settings.resolver.mappings[try HTTPDNSMapping.Key("b.test")] = .addresses(["203.0.113.50"])
            try await client.reload(settings)
            #expect(try await address(client, "b.test") == "203.0.113.50")
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.3"))
            try await client.reload()
            #expect(try await address(client) == "203.0.113.3")
            #expect(try await address(client, "b.test") == "203.0.113.50")
        }
    }

    /// A provider whose settings changed is replaced.
    @Test("A reload keeps a provider whose settings are the same, in any order")
    func providers() throws {
        func settings(_ text: String) throws -> FileSettings {
            try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        }
        let one = "  one: { kind: doh, url: https://192.0.2.53/dns-query }\n"
        let two = "  two: { kind: doh, url: https://192.0.2.54/dns-query }\n"
        var live = LiveProviders()
        let first = try settings("version: 1\nproviders:\n" + one + two)
            .clientConfiguration(file: "f.yaml", providers: &live).resolver.providers
        let changed = two.replacingOccurrences(of: "192.0.2.54", with: "192.0.2.55")
        let limited = one.replacingOccurrences(of: " }", with: ", limits: { in_flight: 5 } }")
        let second = try settings("version: 1\n\n# moved\nproviders:\n" + changed + limited)
            .clientConfiguration(file: "f.yaml", providers: &live).resolver.providers
        #expect(second.map(\.name) == ["two", "one"])
        // The compiler cannot lower this comparison inside of the macro.
        let isFirstKept = ObjectIdentifier(first[0] as AnyObject) == ObjectIdentifier(second[1] as AnyObject)
        let isSecondKept = ObjectIdentifier(first[1] as AnyObject) == ObjectIdentifier(second[0] as AnyObject)
        #expect(isFirstKept)
        #expect(!isSecondKept)
    }

    private static func provider(_ number: Int) -> String {
        "version: 1\nproviders: { one: { kind: doh, url: https://127.0.0.\(number):1/dns-query } }\n"
            + "routes: { \"*\": { providers: one, fallback: none } }\nresolver: { time_limit: 60s, attempt_limit: 60s }\n"
    }

    /// The code of a lookup that no server answers.
    private func failure(_ client: HTTPDNSClient) async -> String {
        do {
            return "\(try await client.resolve("img.test").endpoints)"
        } catch {
            return "\(error)"
        }
    }

    @Test("A provider that leaves the file and comes back runs again")
    func providerComesBack() async throws {
        try await withClient(Self.provider(2), { $0.watchesFile = false }) { client, folder in
            // The file's own settings, which code puts in use again later.
            let kept = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
            try await client.reload(kept)
            for number in [3, 2, 3, 2] {
                try folder.replace("httpdns.yaml", with: Self.provider(number))
                try await client.reload()
                let text = await failure(client)
                #expect(text.contains("127.0.0.\(number)") && !text.contains("shut down"), "\(text)")
            }
        }
    }

    @Test("Of two clients of one file neither shuts down the other's provider")
    func twoClients() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.provider(2), to: "httpdns.yaml")
        var settings = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
        settings.watchesFile = false
        let first = try await HTTPDNSClient(configuration: settings)
        let second = try await HTTPDNSClient(configuration: settings)
        try folder.replace("httpdns.yaml", with: Self.provider(3))
        try await first.reload()
        #expect(await failure(first).contains("127.0.0.3"))
        #expect(await failure(second).contains("127.0.0.2"))
        try await first.shutdown()
        let text = await failure(second)
        #expect(text.contains("127.0.0.2") && !text.contains("shut down"))
        try await second.shutdown()
        // The providers of these settings are gone, and the client says which.
        let error = await #expect(throws: (any Error).self) { try await HTTPDNSClient(configuration: settings) }
        #expect("\(try #require(error))".contains("provider \"one\" is shut down"))
    }

    /// A pause that is due at each step shows where the steps are.
    @Test("Reading and freeing many rules can pause at each of them", arguments: ["hosts", "f.yaml"])
    func pacedReading(name: String) throws {
        let pauses = Lock(0)
        let count = { pauses.withLock { $0 } }
        let lines = (0..<500).map { name == "hosts" ? "203.0.113.7 n\($0).test" : "  n\($0).test: 203.0.113.7" }
        let text = (name == "hosts" ? "" : "version: 1\nmappings:\n") + lines.joined(separator: "\n") + "\n"
        let pace = WorkPace(work: .zero, rest: { pauses.withLock { $0 += 1 } })
        try pace.run {
            var mappings: HTTPDNSMappings? = try HTTPDNSMappings(
                HTTPDNSConfigurationFile.settings(text, name: name).configuration.resolver.mappings
            )
            #expect(count() >= 3 * lines.count)
            let before = count()
            HTTPDNSMappings.free(mappings.take())
            #expect(count() - before >= lines.count)
        }
        _ = try HTTPDNSConfigurationFile.settings(text, name: name)
        let after = count()
        _ = try HTTPDNSConfigurationFile.settings(text, name: name)
        #expect(count() == after, "other work goes on without a pause")
    }

    @Test("The kill switch in the file turns everything off and on")
    func switchInFile() async throws {
        try await withClient(Self.mapping("203.0.113.1")) { client, folder in
            #expect(client.killSwitch.isOn)
            try folder.replace("httpdns.yaml", with: "version: 1\nenabled: false\nmappings: { a.test: 203.0.113.1 }\n")
            try await client.reload()
            #expect(!client.killSwitch.isOn)
            try folder.replace("httpdns.yaml", with: Self.mapping("203.0.113.1"))
            try await client.reload()
            #expect(client.killSwitch.isOn)
        }
    }

    @Test("SIGHUP makes a client that handles it read its file again")
    func hangUp() async throws {
        try await withClient(
            Self.mapping("203.0.113.1"),
            {
                $0.watchesFile = false
                $0.reloadsOnHangUp = true
            }
        ) { client, folder in
            // Dispatch installs its handler on a thread of its own; before, the signal would end this process.
            var action = sigaction()
            repeat {
                await Task.yield()
                sigaction(SIGHUP, nil, &action)
            } while unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self) == 0
            try folder.write(Self.mapping("203.0.113.2"), to: "httpdns.yaml")
            kill(getpid(), SIGHUP)
            #expect(await log.next() == "debug configuration file reloaded")
            #expect(try await address(client) == "203.0.113.2")
        }
    }

    @Test("After shutdown no file is read, and a reload fails with the reason")
    func ends() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Self.mapping("203.0.113.1"), to: "httpdns.yaml")
        let client = try await HTTPDNSClient(configuration: .file(folder.path("httpdns.yaml")))
        try await client.shutdown()
        do {
            try await client.reload()
            Issue.record("a client that is shut down took settings")
        } catch let error as HTTPDNSClientError {
            #expect(error.code == .shutDown)
        }
    }

    // `make bench` measures a release build: 500 ms at most.
    @Test("Ten thousand rules are reloaded, and no lookup waits for it")
    func tenThousandRules() async throws {
        func text(_ octet: Int) -> String {
            var text = "version: 1\nmappings:\n"
            for number in 0..<10_000 { text += "  h\(number).test: 203.0.113.\(octet)\n" }
            return text
        }
        try await withClient(text(1)) { client, folder in
            let isOver = Lock(false)
            let asked = Lock(0)
            // A busy machine may ask few questions in a reload; of questions that wait for it there are two at most.
            let reload = Task {
                defer { isOver.withLock { $0 = true } }
                var taken: [Duration] = []
                while taken.count < 5 || taken.count < 25 && asked.withLock({ $0 }) <= 2 * taken.count {
                    try folder.write(text(taken.count.isMultiple(of: 2) ? 2 : 1), to: "httpdns.yaml")
                    let begin = ContinuousClock.now
                    try await client.reload()
                    taken.append(begin.duration(to: .now))
                }
                return taken
            }
            var (times, answers): ([Duration], [String]) = ([], [])
            while !isOver.withLock({ $0 }) {
                let begin = ContinuousClock.now
                answers.append(try await address(client, "h9999.test"))
                times.append(begin.duration(to: .now))
                asked.withLock { $0 += 1 }
                // The others on this machine have their turn.
                try await Task.sleep(for: .milliseconds(1))
            }
            let taken = try await reload.value.sorted()
            let last = taken.count.isMultiple(of: 2) ? "203.0.113.1" : "203.0.113.2"
            #expect(try await address(client, "h9999.test") == last)
            #expect(
                Set(answers).isSubset(of: ["203.0.113.1", "203.0.113.2"]) && answers.count > 2 * taken.count,
                "\(answers.count)"
            )
            // Half of them: a busy machine may stand still in any single one.
            let (reloaded, answered) = (taken[taken.count / 2], times.sorted()[times.count / 2])
            #expect(answered < reloaded / 2, "\(reloaded), a question \(answered)")
            print("10,000 rules, \(taken.count) times: \(taken); \(times.count) questions meanwhile: \(answered)")
        }
    }
}
#endif
