// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

struct ForeignMarksTests {
    typealias Mark = HTTPDNSClient.ForeignMarks.Mark

    /// A marked request, what is left, and the marks.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var fragment: String
        var fields: [String: String] = [:]
        var left = ""
        var leftFields: [String: String] = [:]
        var marks: [String]
    }

    static let cases = [
        Case(
            testDescription: "a fragment of its own",
            fragment: "#__webviewproxyreq__",
            marks: ["fragment __webviewproxyreq__"]
        ),
        Case(
            testDescription: "appended to a fragment, twice",
            fragment: "#part__webviewproxyreq____webviewproxyreq__",
            left: "#part",
            marks: ["fragment __webviewproxyreq__"]
        ),
        Case(
            testDescription: "not at the end",
            fragment: "#__webviewproxyreq__x",
            left: "#__webviewproxyreq__x",
            marks: []
        ),
        Case(
            testDescription: "a header field of empty value",
            fragment: "",
            fields: ["x-rncache": ""],
            marks: ["header field X-RNCache"]
        ),
        Case(
            testDescription: "an element of a list",
            fragment: "",
            fields: ["Accept": "text/plain, MSW/passthrough", "X-Msw-Intention": "bypass"],
            leftFields: ["Accept": "text/plain"],
            marks: ["header field Accept: msw/passthrough", "header field X-MSW-Intention"]
        ),
        Case(
            testDescription: "the whole list",
            fragment: "",
            fields: ["Accept": "msw/passthrough"],
            marks: ["header field Accept: msw/passthrough"]
        ),
        Case(
            testDescription: "no mark",
            fragment: "#end",
            fields: ["Accept": "text/plain,*/*", "X-Other": "1"],
            left: "#end",
            leftFields: ["Accept": "text/plain,*/*", "X-Other": "1"],
            marks: []
        ),
    ]

    private func request(_ url: String, _ fields: [String: String]) throws -> HTTPDNSClient.Request {
        var request = HTTPDNSClient.Request(url: url)
        for (name, value) in fields { request.headerFields[try #require(HTTPField.Name(name))] = value }
        return request
    }

    @Test("A mark is recognized and removed, and the request is mapped", arguments: cases)
    func stripped(_ example: Case) async throws {
        let seen = Journal<HTTPDNSClient.Request>()
        let marks = HTTPDNSClient.ForeignMarks()
        let rig = try Rig { configuration in
            configuration.applicationInterceptors = [
                marks,
                Around.before { seen.write($0) },
            ]
        }
        let marked = try request("https://map.test/a\(example.fragment)", example.fields)
        #expect(marks.marks(of: marked).map(\.description) == example.marks)
        _ = try await rig.client.execute(marked)
        let expected = try request("https://map.test/a\(example.left)", example.leftFields)
        #expect(seen.all.map(\.url) == [expected.url] && seen.all.map(\.headerFields) == [expected.headerFields])
        let sent = try #require(rig.wire.requests.first)
        #expect(sent.endpoints.first?.address.description == "203.0.113.7")
        #expect(sent.url.description == "https://map.test/a")
        #expect(example.marks.isEmpty || sent.headerFields == expected.headerFields)
    }

    @Test("Without the interceptor, a marked request is mapped all the same", arguments: cases)
    func untrusted(_ example: Case) async throws {
        let rig = try Rig()
        _ = try await rig.client.execute(request("https://map.test/a\(example.fragment)", example.fields))
        #expect(rig.wire.requests.first?.endpoints.first?.address.description == "203.0.113.7")
    }

    @Test("A program's own marks replace the known ones")
    func own() throws {
        let marks = HTTPDNSClient.ForeignMarks([.fragment("mine"), .headerField(.via, element: "my-proxy")])
        let marked = try request("https://map.test/#mine", ["Via": "1.1 a, my-proxy", "X-RNCache": ""])
        #expect(marks.marks(of: marked) == marks.marks)
    }
}
