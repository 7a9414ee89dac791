// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct StubIsolationTests {
    private let url = "https://api.shop.test/v1/items"

    @Test("A hundred parallel tests in scopes on one client see their own stubs alone")
    func scopes() async throws {
        let stubs = HTTPDNSStubs()
        let mistakes = Journal<String>()
        try await withStubs(stubs) { client async throws in
            for run in 0..<100 {
                await withTaskGroup(of: Void.self) { [url] tests in
                    for test in 0..<100 {
                        tests.addTask {
                            do {
                                try await stubs.scope { () async throws in
                                    stubs.on(.get, url).respond(.reply("\(run)-\(test)"), times: 2)
                                    // A child task and the task itself.
                                    async let child = client.text(url)
                                    let texts = [try await client.text(url), try await child]
                                    guard texts.allSatisfy({ $0 == "\(run)-\(test)" }), stubs.requests.count == 2 else {
                                        return mistakes.write("\(run)-\(test): \(texts), \(stubs.requests.count)")
                                    }
                                    try stubs.verify()
                                }
                            } catch {
                                mistakes.write("\(run)-\(test): \(error)")
                            }
                        }
                    }
                }
            }
        }
        #expect(mistakes.all == [] && stubs.all.isEmpty && stubs.requests.isEmpty)
    }

    @Test("A hundred parallel tests with clients of their own see their own stubs alone")
    func clients() async throws {
        let mistakes = Journal<String>()
        let transport = HTTPDNSLibcurlTransport()
        for run in 0..<100 {
            await withTaskGroup(of: Void.self) { [url] tests in
                for test in 0..<100 {
                    tests.addTask {
                        do {
                            let stubs = HTTPDNSStubs()
                            stubs.on(.get, url).respond(.reply("\(run)-\(test)"))
                            let client = try await HTTPDNSClient(configuration: .stubbed(stubs), on: transport)
                            let text = try await client.text(url)
                            if text != "\(run)-\(test)" || stubs.requests.count != 1 {
                                mistakes.write("\(run)-\(test): \(text)")
                            }
                            try stubs.verify()
                            try await client.shutdown()
                        } catch {
                            mistakes.write("\(run)-\(test): \(error)")
                        }
                    }
                }
            }
        }
        #expect(mistakes.all == [])
        await transport.shutdown()
    }

    @Test("A scope falls back to the stubs around it, and is gone at its end")
    func nested() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all, named: "outside").respond(.reply("outside"))
        try await withStubs(stubs) { client async throws in
            try await stubs.scope { () async throws in
                stubs.on(.get, path: "/a").respond(.reply("a"))
                try await stubs.scope { () async throws in
                    stubs.on(.get, path: "/b").respond(.reply("b"))
                    #expect(try await client.text("https://one.test/a") == "a")
                    #expect(try await client.text("https://one.test/b") == "b")
                    #expect(try await client.text("https://one.test/c") == "outside")
                    #expect(stubs.all.map(\.description) == ["GET /b"] && stubs.requests.count == 3)
                    stubs.reset()
                }
                #expect(try await client.text("https://one.test/b") == "outside")
                #expect(stubs.all.map(\.description) == ["GET /a"] && stubs.requests.count == 1)
            }
            #expect(try await client.text("https://one.test/a") == "outside")
            #expect(stubs.all.map(\.description) == ["outside"] && stubs.requests.count == 1)
        }
    }

    @Test("Unstructured tasks inherit a scope, and detached tasks do not")
    func tasks() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.reply("outside"))
        try await withStubs(stubs) { client async throws in
            try await stubs.scope { [url] () async throws in
                stubs.on(.all).respond(.reply("inside"))
                #expect(try await Task { try await client.text(url) }.value == "inside")
                #expect(try await Task.detached { try await client.text(url) }.value == "outside")
                let texts = Journal<String>()
                let done = Gate()
                client.execute(HTTPDNSClient.Request(url: url)) { result in
                    texts.write((try? result.get()).map { String(decoding: $0.body, as: UTF8.self) } ?? "failed")
                    done.open()
                }
                await done.passage()
                #expect(texts.all == ["inside"])
            }
        }
    }

    @Test("The scopes of two sets do not concern each other")
    func twoSets() async throws {
        let (one, two) = (HTTPDNSStubs(), HTTPDNSStubs())
        one.on(.all).respond(.reply("one"))
        try await withStubs(one) { first async throws in
            try await withStubs(two) { second async throws in
                try await one.scope { () async throws in
                    try await two.scope { () async throws in
                        one.on(.all).respond(.reply("one inside"))
                        two.on(.all).respond(.reply("two inside"))
                        #expect(try await first.text(url) == "one inside")
                        #expect(try await second.text(url) == "two inside")
                    }
                }
                #expect(try await first.text(url) == "one")
                #expect(await clientError { try await second.text(url) }?.code == .unmatchedRequest)
            }
        }
    }

    @Test("A scope passes the error of its body on, and runs on the actor of its caller")
    @MainActor
    func errorAndActor() async throws {
        struct Planned: Error {}
        let stubs = HTTPDNSStubs()
        var count = 0
        await #expect(throws: Planned.self) {
            try await stubs.scope { () async throws in
                count += 1
                MainActor.assertIsolated()
                throw Planned()
            }
        }
        #expect(count == 1)
    }
}
