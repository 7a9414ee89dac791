// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNS

struct ParametersTests {
    typealias Parameters = HTTPDNSClient.Parameters

    /// One line of the table.
    struct Vector: CustomTestStringConvertible, Sendable {
        let parameters: Parameters
        let text: String
        var encoding = Parameters.Encoding.query

        init(_ parameters: Parameters, _ text: String, _ change: (inout Parameters.Encoding) -> Void = { _ in }) {
            self.parameters = parameters
            self.text = text
            change(&encoding)
        }

        var testDescription: String { text }
    }

    static let plain = [
        Vector([:], ""),
        Vector(["a": "b"], "a=b"),
        Vector(["a": ""], "a="),
        Vector(["": "a"], "=a"),
        Vector(["b": "1", "a": "2"], "b=1&a=2"),
        Vector(["a": "1", "a": "2"], "a=1&a=2"),
        Vector(["a": "b c"], "a=b%20c"),
        Vector(["a b": "c"], "a%20b=c"),
        Vector(["a": "+"], "a=%2B"),
        Vector(["a": "%20"], "a=%2520"),
        Vector(["a": "&=?#"], "a=%26%3D%3F%23"),
        Vector(["a&b=c": "d"], "a%26b%3Dc=d"),
        Vector(["a": "!$'()*,;"], "a=%21%24%27%28%29%2A%2C%3B"),
        Vector(["a": ":/@"], "a=%3A%2F%40"),
        Vector(["a": "[]"], "a=%5B%5D"),
        Vector(["a[]": "b"], "a%5B%5D=b"),
        Vector(["a": "-._~"], "a=-._~"),
        Vector(["a": "\"<>\\^`{|}"], "a=%22%3C%3E%5C%5E%60%7B%7C%7D"),
        Vector(["a": "\r\n\t\0"], "a=%0D%0A%09%00"),
        Vector(["a": "é"], "a=%C3%A9"),
        Vector(["a": "e\u{301}"], "a=e%CC%81"),
        Vector(["a": "日本"], "a=%E6%97%A5%E6%9C%AC"),
        Vector(["a": "😀"], "a=%F0%9F%98%80"),
        Vector(["😀": "👨‍👩‍👧"], "%F0%9F%98%80=%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7"),
        Vector(["a": 0], "a=0"),
        Vector(["a": -12], "a=-12"),
        Vector(["a": 9_223_372_036_854_775_807], "a=9223372036854775807"),
        Vector(["a": 0.1], "a=0.1"),
        Vector(["a": 1e20], "a=1e%2B20"),
        Vector(["a": true, "b": false], "a=true&b=false"),
        Vector(["a": true, "b": false], "a=1&b=0") { $0.booleans = .digits },
        Vector(["a": nil, "b": "1"], "b=1"),
        Vector(["a": nil, "b": "1"], "a=&b=1") { $0.missing = .empty },
        Vector(["a": nil, "b": "1"], "a&b=1") { $0.missing = .nameOnly },
        Vector(["a b": nil], "a%20b") { $0.missing = .nameOnly },
    ]

    static let nested = [
        Vector(["a": [1, 2]], "a%5B%5D=1&a%5B%5D=2"),
        Vector(["a": [1, 2]], "a%5B0%5D=1&a%5B1%5D=2") { $0.lists = .indices },
        Vector(["a": [1, 2]], "a=1&a=2") { $0.lists = .repeated },
        Vector(["a": [1, 2]], "a=1,2") { $0.lists = .commas },
        Vector(["a": ["b,c", "d e"]], "a=b%2Cc,d%20e") { $0.lists = .commas },
        Vector(["a": [true, false]], "a=1,0") {
            $0.lists = .commas
            $0.booleans = .digits
        },
        Vector(["a": [1, nil, 2]], "a=1,2") { $0.lists = .commas },
        Vector(["a": [1, nil, 2]], "a=1,,2") {
            $0.lists = .commas
            $0.missing = .empty
        },
        Vector(["a": [1, nil]], "a%5B%5D=1"),
        Vector(["a": [1, nil]], "a%5B0%5D=1&a%5B1%5D=") {
            $0.lists = .indices
            $0.missing = .empty
        },
        Vector(["a": []], ""),
        Vector(["a": []], "") { $0.lists = .commas },
        Vector(["a": [:]], ""),
        Vector(["a": ["b": 1]], "a%5Bb%5D=1"),
        Vector(["a": ["b": 1]], "a.b=1") { $0.nesting = .dots },
        Vector(["a": ["b": ["c": 1]]], "a%5Bb%5D%5Bc%5D=1"),
        Vector(["a": ["b": ["c": 1]]], "a.b.c=1") { $0.nesting = .dots },
        Vector(["a": ["b c": "d"]], "a%5Bb%20c%5D=d"),
        Vector(["a": ["]": "["]], "a%5B%5D%5D=%5B"),
        Vector(["a": ["b": [1, 2]]], "a%5Bb%5D%5B%5D=1&a%5Bb%5D%5B%5D=2"),
        Vector(["a": ["b": [1, 2]]], "a.b=1,2") {
            $0.nesting = .dots
            $0.lists = .commas
        },
        Vector(["a": ["b": [1, 2]]], "a.b=1&a.b=2") {
            $0.nesting = .dots
            $0.lists = .repeated
        },
        Vector(["a": [["b": 1], ["b": 2]]], "a%5B0%5D%5Bb%5D=1&a%5B1%5D%5Bb%5D=2") { $0.lists = .indices },
        Vector(["a": [["b": 1]]], "a%5B%5D%5Bb%5D=1"),
        Vector(["a": [["b": 1], 2]], "a%5B0%5D%5Bb%5D=1&a%5B1%5D=2") { $0.lists = .commas },
        Vector(["a": [[1, 2], [3]]], "a%5B0%5D%5B0%5D=1&a%5B0%5D%5B1%5D=2&a%5B1%5D%5B0%5D=3") { $0.lists = .indices },
        Vector(["a": ["b": nil, "c": true]], "a%5Bc%5D=true"),
        Vector(["😀": ["é": ["x"]]], "%F0%9F%98%80%5B%C3%A9%5D%5B%5D=x"),
    ]

    static let forms = [
        Vector(["a b": "c d"], "a+b=c+d") { $0.isForm = true },
        Vector(["a": "*~"], "a=*%7E") { $0.isForm = true },
        Vector(["a": "+"], "a=%2B") { $0.isForm = true },
        Vector(["a": ["b c": [1]]], "a%5Bb+c%5D%5B%5D=1") { $0.isForm = true },
    ]

    @Test("Parameters have one form for each encoding", arguments: plain + nested + forms)
    func encoded(_ vector: Vector) {
        #expect(vector.parameters.encoded(vector.encoding) == vector.text)
    }

    @Test(
        "Parameters follow the query of a URL, before its fragment",
        arguments: [
            ("https://a.test", "https://a.test?q=1"), ("https://a.test/b?c=d", "https://a.test/b?c=d&q=1"),
            ("https://a.test/?", "https://a.test/?q=1"), ("https://a.test/?a&", "https://a.test/?a&q=1"),
            ("https://a.test/#x?y", "https://a.test/?q=1#x?y"), ("https://a.test/?a#", "https://a.test/?a&q=1#"),
        ]
    )
    func query(url: String, expected: String) {
        var request = HTTPDNSClient.Request(url: url)
        request.addQuery([:])
        #expect(request.url == url)
        request.addQuery(["q": 1])
        #expect(request.url == expected)
    }

    @Test("A form of parameters is a body with its type, and equals a plain form")
    func form() async throws {
        let body = HTTPDNSClient.Request.Body.form(parameters: ["q": "a b*~", "r": ["1"]])
        #expect(body.contentType == "application/x-www-form-urlencoded" && body.isReplayable)
        guard case .bytes(let bytes) = try await body.opened() else {
            Issue.record("the body is not in memory")
            return
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "q=a+b*%7E&r%5B%5D=1")
        guard case .bytes(let plain) = try await HTTPDNSClient.Request.Body.form(["q": "a b*~", "r[]": "1"]).opened()
        else {
            Issue.record("the body is not in memory")
            return
        }
        #expect(plain == bytes)
    }
}
