// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import Testing

/// The code of the articles Answers and Recording of HTTPDNSTesting.
struct AnswerTests {
    @Test("An answer is described by its content and its changes")
    func contents() throws {
        let items = try HTTPDNSStubs.Answer.json(["lamp", "chair"])
        let page = HTTPDNSStubs.Answer.html("<p>Closed</p>", status: .serviceUnavailable)

        let offline = HTTPDNSStubs.Answer.error(
            HTTPDNSClientError(code: .connectFailed, phase: .connect, message: "the test is offline")
        )

        var lost = HTTPDNSClientError(code: .connectionLost, phase: .firstByte, message: "the test lost the response")
        lost.requestMayHaveBeenSent = true
        let unanswered = HTTPDNSStubs.Answer.error(lost)

        let flaky = items.failing(
            percent: 20,
            seed: 1,
            with: HTTPDNSClientError(code: .connectionLost, phase: .body, message: "a fault of the test")
        )

        let slow = HTTPDNSStubs.Answer.text("ready").delayed(by: .seconds(2)).bandwidth(.gprs)

        let cheap = try HTTPDNSStubs.Answer.passingThrough(mergingJSON: #"{"price": 1}"#)
        let patched = HTTPDNSStubs.Answer.passingThrough { response in
            response.head.status = .serviceUnavailable
            response.changeBody { _ in .bytes([]) }
        }
        _ = (page, offline, unanswered, flaky, slow, cheap, patched)
    }

    @Test("Files that are not there are refused when the answer is made")
    func files() throws {
        #expect(throws: HTTPDNSStubs.AnswerError.self) { try fixtures() }
        #expect(throws: HTTPDNSStubs.AnswerError.self) { try messages() }
    }

    private func fixtures() throws {
        let items = try HTTPDNSStubs.Answer.json(["lamp", "chair"])
        let page = HTTPDNSStubs.Answer.html("<p>Closed</p>", status: .serviceUnavailable)
        let logo = try HTTPDNSStubs.Answer.image(file: "Tests/Fixtures/logo.png")
        let moved = HTTPDNSStubs.Answer.redirect(to: "https://new.shop.example/", status: .permanentRedirect)
        _ = (items, page, logo, moved)
    }

    private func messages() throws {
        let captured = try HTTPDNSStubs.Answer.message(file: "Tests/Fixtures/items.http")
        let mocktails = try HTTPDNSStubs.Mocktail.folder("Tests/Fixtures/Mocktails")
        _ = (captured, mocktails)
    }

    private func piped(_ otherClient: HTTPDNSClient) {
        let staging = HTTPDNSStubs.Answer.custom { request in
            var request = request
            request.url = request.url.replacing("//api.shop.example/", with: "//api.staging.example/")
            return try await otherClient.execute(request)
        }
        _ = staging
    }
}
