// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

struct InterceptorRegistryTests {
    private typealias Registry = HTTPDNSClient.InterceptorRegistry

    /// Writes its name on the way in and on the way back.
    private struct Noting: HTTPDNSClient.Interceptor {
        let name: String
        let journal: Journal<String>
        var priority = 0
        var predicate: HTTPDNSClient.RequestPredicate?

        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            journal.write("\(name) in")
            defer { journal.write("\(name) out") }
            return try await next(request, context)
        }
    }

    private struct Failing: HTTPDNSClient.Interceptor {
        struct TokenMissing: Error {}

        var predicate: HTTPDNSClient.RequestPredicate?

        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            throw TokenMissing()
        }
    }

    @Test(
        "Process, client, request, and in each the priority order the interceptors",
        arguments: [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 1, 0, 4, 2]]
    )
    func order(registration: [Int]) async throws {
        let journal = Journal<String>()
        let process = Registry()
        let rig = try Rig { $0.processInterceptors = process }
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        for index in registration {
            switch index {
            case 0: process.addApplicationInterceptor(Noting(name: "process 9", journal: journal, priority: 9))
            case 1: process.addApplicationInterceptor(Noting(name: "process 0", journal: journal))
            case 2:
                rig.client.interceptors.addApplicationInterceptor(
                    Noting(name: "client 5", journal: journal, priority: 5)
                )
            case 3:
                rig.client.interceptors.addApplicationInterceptor(
                    Noting(name: "client -5", journal: journal, priority: -5)
                )
            default: request.applicationInterceptors = [Noting(name: "request 99", journal: journal, priority: 99)]
            }
        }
        _ = try await rig.client.execute(request)
        let names = ["process 9", "process 0", "client 5", "client -5", "request 99"]
        #expect(journal.all == names.map { "\($0) in" } + names.reversed().map { "\($0) out" })
    }

    @Test("Among equal priorities the interceptor that was added first is outermost")
    func equalPriorities() async throws {
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.networkInterceptors = [
                Noting(name: "a", journal: journal), Noting(name: "b", journal: journal),
            ]
        }
        rig.client.interceptors.addNetworkInterceptor(Noting(name: "c", journal: journal))
        rig.client.interceptors.addNetworkInterceptor(Noting(name: "first", journal: journal, priority: 1))
        var request = HTTPDNSClient.Request(url: "https://one.test/")
        request.networkInterceptors = [Noting(name: "own", journal: journal)]
        _ = try await rig.client.execute(request)
        #expect(journal.all.prefix(5) == ["first in", "a in", "b in", "c in", "own in"])
        #expect(request.networkInterceptors.count == 1 && request.applicationInterceptors.isEmpty)
    }

    @Test("Later calls of all clients use a registered interceptor until it is removed")
    func laterClients() async throws {
        let journal = Journal<String>()
        let process = Registry()
        let before = try Rig { $0.processInterceptors = process }
        let other = try Rig()
        let registration = process.addNetworkInterceptor(Noting(name: "n", journal: journal))
        let after = try Rig { $0.processInterceptors = process }
        for (rig, count) in [(before, 2), (after, 4), (other, 4)] {
            _ = try await rig.client.get("https://one.test/")
            #expect(journal.all.count == count)
        }
        process.isEnabled = false
        _ = try await before.client.get("https://one.test/")
        #expect(journal.all.count == 4 && !process.isEnabled)
        process.isEnabled = true
        _ = try await before.client.get("https://one.test/")
        #expect(journal.all.count == 6)
        registration.remove()
        registration.remove()
        for rig in [before, after] { _ = try await rig.client.get("https://one.test/") }
        #expect(journal.all.count == 6)
        #expect(HTTPDNSClient.Configuration().processInterceptors == nil)
    }

    @Test("A change does not concern the calls in progress")
    func callsInProgress() async throws {
        let journal = Journal<String>()
        let process = Registry()
        let rig = try Rig { $0.processInterceptors = process }
        let removed = process.addNetworkInterceptor(Noting(name: "removed", journal: journal))
        let changing = process.addApplicationInterceptor(
            Around.before { _ in
                removed.remove()
                process.addNetworkInterceptor(Noting(name: "added", journal: journal))
            }
        )
        _ = try await rig.client.get("https://one.test/")
        #expect(journal.all == ["removed in", "removed out"])
        changing.remove()
        _ = try await rig.client.get("https://one.test/")
        #expect(journal.all.dropFirst(2) == ["added in", "added out"])
    }

    @Test("An interceptor gets the requests that fulfill its predicate as they arrive")
    func predicates() async throws {
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Noting(name: "two", journal: journal, predicate: .host("two.test")),
                Around.before { request in
                    if request.url == "https://one.test/move" { request.url = "https://two.test/" }
                },
                Noting(name: "moved", journal: journal, predicate: .host("two.test")),
            ]
            configuration.networkInterceptors = [
                Noting(name: "one", journal: journal, predicate: .host("one.test") && .method(.get))
            ]
        }
        _ = try await rig.client.get("https://one.test/move")
        #expect(journal.all == ["moved in", "moved out"])
        _ = try await rig.client.get("https://one.test/")
        #expect(journal.all.dropFirst(2) == ["one in", "one out"])
    }

    /// Swift compares strings by canonical equivalence.
    @Test(
        "A URL with other bytes is another one, also when the text is equal",
        arguments: [("caf\u{E9}", "cafe\u{301}", "/cafe%cc%81"), ("K", "\u{212A}", "/%e2%84%aa")]
    )
    func equivalentURLs(from: String, to: String, path: String) async throws {
        let journal = Journal<String>()
        let rig = try Rig { configuration in
            configuration.networkInterceptors = [
                Around.before { $0.url = "https://one.test/\(to)" },
                Noting(name: "changed", journal: journal, predicate: .path(path)),
            ]
        }
        _ = try await rig.client.get("https://one.test/\(from)")
        #expect(journal.all == ["changed in", "changed out"])
        #expect(rig.wire.requests.map { $0.url.description } == ["https://one.test\(path)"])
    }

    @Test("A predicate reads the body, and the body arrives whole", arguments: [false, true])
    func bodies(isStream: Bool) async throws {
        let journal = Journal<String>()
        let text = Array(#"{"amount": 100, "note": "\#(String(repeating: "x", count: 5000))"}"#.utf8)
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Noting(
                    name: "amount",
                    journal: journal,
                    predicate: .body { $0.starts(with: Array(#"{"amount": 100"#.utf8)) }
                ),
                Noting(
                    name: "other",
                    journal: journal,
                    predicate: .body { $0.starts(with: Array(#"{"amount": 1,"#.utf8)) }
                ),
            ]
            configuration.networkInterceptors = [
                Around { request, _, _ in
                    let bytes = try await request.body.collect(upTo: .kibibytes(64))
                    return HTTPDNSClient.Response(head: HTTPResponse(status: .accepted), body: .bytes(bytes))
                }
            ]
        }
        let chunks = stride(from: 0, to: text.count, by: 1000).map { Array(text[$0..<min($0 + 1000, text.count)]) }
        let body: HTTPDNSClient.Request.Body = isStream ? .stream(Chunks(chunks)) : .bytes(text)
        let response = try await rig.client.post("https://one.test/", body: body)
        var received: [UInt8] = []
        for try await chunk in response.body { received += chunk }
        #expect(received == text)
        #expect(journal.all == ["amount in", "amount out"])
    }

    @Test("The error lists the interceptors that it passed, and not those of an earlier one")
    func chain() async throws {
        struct Own: Error {}
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                Noting(name: "outer", journal: Journal<String>(), predicate: .method(.get)),
                Around { request, context, next in
                    do { return try await next(request, context) } catch {
                        if request.url.hasSuffix("/own") { throw Own() }
                        if request.url.hasSuffix("/again") { return try await next(request, context) }
                        throw error
                    }
                },
            ]
            configuration.networkInterceptors = [Failing(predicate: !.path("/good"))]
        }
        let inner = await clientError { try await rig.client.get("https://one.test/") }
        #expect(inner?.code == .interceptorFailed && inner?.interceptors == ["Noting", "Around", "Failing"])
        #expect(inner?.description.contains("Noting > Around > Failing") == true)
        let again = await clientError { try await rig.client.get("https://one.test/again") }
        #expect(again?.interceptors == ["Noting", "Around", "Failing"])
        let own = await clientError { try await rig.client.get("https://one.test/own") }
        #expect(own?.underlying is Own && own?.interceptors == ["Noting", "Around"])
        let post = await clientError { try await rig.client.post("https://one.test/", body: .none) }
        #expect(post?.interceptors == ["Around", "Failing"])
        _ = try await rig.client.get("https://one.test/good")
    }

    @Test("1,000 calls whose interceptor throws leave 1,000 others alone")
    func neighbors() async throws {
        let rig = try Rig { $0.networkInterceptors = [Failing(predicate: .path("/bad"))] }
        // Few at a time: suites beside this one measure times.
        let (responses, errors) = await withTaskGroup(of: (Int, Int).self) { tasks in
            for _ in 0..<10 {
                tasks.addTask {
                    var (responses, errors) = (0, 0)
                    for number in 0..<200 {
                        let path = number.isMultiple(of: 2) ? "bad" : "good"
                        let error = await clientError { try await rig.client.get("https://one.test/\(path)") }
                        if let error {
                            #expect(error.code == .interceptorFailed && error.interceptors == ["Failing"])
                            errors += 1
                        } else {
                            responses += 1
                        }
                    }
                    return (responses, errors)
                }
            }
            return await tasks.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
        }
        #expect(responses == 1000 && errors == 1000)
    }

    @Test("The context has the host's route, and a logger that numbers call and hop")
    func context() async throws {
        let route = HTTPDNSRoute(try .init("*.test"), .providers(["scripted"], fallback: .off))
        let rig = try Rig { configuration in
            configuration.logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
            configuration.networkInterceptors = [
                Around { request, context, next in
                    #expect(context.route == route)
                    let logger = try #require(context.logger)
                    #expect(logger[metadataKey: "call"] == "\(context.callID)" && logger[metadataKey: "hop"] == "0")
                    return try await next(request, context)
                }
            ]
        }
        _ = try await rig.client.get("https://one.test/")
    }
}
