// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ServerRig
import Testing

@testable import HTTPDNS

struct AuthenticationMemoryTests {
    private func challenge(_ nonce: String, _ rest: String = "qop=auth") throws -> DigestChallenge {
        let text = "Digest realm=a, nonce=\(nonce), \(rest)"
        return try #require(DigestChallenge.strongest(of: AuthenticationChallenge.all(in: Array(text.utf8))))
    }

    private func origin(_ text: String = "https://one.test") throws -> HTTPDNSClient.Origin {
        try #require(HTTPDNSClient.Origin(text))
    }

    @Test("Concurrent requests never use a count of a nonce twice")
    func counts() async throws {
        let (memory, challenge, origin) = (AuthenticationMemory(), try challenge("n"), try origin())
        #expect(memory.take(challenge)?.count == 1)
        let counts = try await concurrently(200) { _ in memory.next(for: "/", at: origin)?.count }
        #expect(Set(counts.compactMap(\.self)) == Set(2...201))
        // Another request that got the same challenge goes on counting.
        #expect(memory.take(challenge)?.count == 202)
    }

    @Test("A retry goes on counting a nonce whose count was dropped for newer ones")
    func droppedCount() throws {
        let memory = AuthenticationMemory()
        let use = try #require(memory.take(try challenge("n")))
        for number in 0..<AuthenticationMemory.maximumNonces { _ = memory.take(try challenge("n\(number)")) }
        let answer = DigestAnswer(
            challenge: use.challenge,
            user: "me",
            password: "pw",
            method: "GET",
            target: "/",
            count: use.count,
            clientNonce: use.clientNonce
        )
        #expect(memory.next(after: answer)?.count == 2)
    }

    @Test("The next nonce of a server begins at one, and replaces only its own predecessor")
    func nextNonce() throws {
        let (memory, origin) = (AuthenticationMemory(), try origin())
        _ = memory.take(try challenge("n"))
        memory.replace(Array("other".utf8), with: Array("bad".utf8))
        memory.replace(Array("n".utf8), with: Array("m".utf8))
        let use = memory.next(for: "/", at: origin)
        #expect(use?.challenge.nonce == Array("m".utf8) && use?.count == 1)
        memory.forget(Array("n".utf8))
        #expect(memory.next(for: "/", at: origin)?.count == 2)
        memory.forget(Array("m".utf8))
        #expect(memory.next(for: "/", at: origin) == nil)
    }

    @Test("A session keeps its first client nonce, and its server's nonce")
    func session() throws {
        let (memory, origin) = (AuthenticationMemory(), try origin())
        let first = memory.take(try challenge("n", "qop=auth, algorithm=MD5-sess"))
        memory.replace(Array("n".utf8), with: Array("m".utf8))
        let second = memory.next(for: "/", at: origin)
        #expect(first?.clientNonce == second?.clientNonce && second?.challenge.nonce == Array("n".utf8))
        #expect(second?.count == 2)
    }

    @Test(
        "A nonce is used for the URIs of its domain at its own origin",
        arguments: [
            ("/docs/", "/docs/a", true), ("/docs/", "/other", false), ("https://one.test/docs", "/docs", true),
            ("https://two.test/docs", "/docs", false), ("/a /b", "/b", true), ("%", "/", false),
        ]
    )
    func domain(domain: String, path: String, covers: Bool) throws {
        let challenge = try challenge("n", "qop=auth, domain=\"\(domain)\"")
        #expect(try challenge.covers(path, at: origin()) == covers)
    }

    @Test("A Basic credential is remembered for the folder of an accepted path")
    func folders() {
        let state = AuthenticationMemory()
        #expect(!state.covers("/a/b"))
        state.accept("/a/b")
        #expect(state.covers("/a/c") && state.covers("/a/d/e") && !state.covers("/") && !state.covers("/ab"))
        state.accept("/")
        #expect(state.covers("/ab"))
        state.forgetPaths()
        #expect(!state.covers("/a/b"))
        for number in 0..<100 { state.accept("/\(number)/x") }
        #expect(!state.covers("/0/x") && state.covers("/99/x"))
    }
}
