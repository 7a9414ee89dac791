// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Command lines of requests, run by `sh` with the installed curl.
@Suite(
    "Command lines over the wire",
    .enabled(if: ServerRig.isAvailable([.nginx]) && Command.find("curl") != nil)
)
struct CurlCommandOverTheWireTests {
    /// A request whose URL gets the host and the port of a test.
    struct Sample: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var method = HTTPRequest.Method.get
        var target = "/echo"
        var fields: HTTPFields = [:]
        var body: @Sendable (TemporaryFolder) throws -> HTTPDNSClient.Request.Body = { _ in .none }
    }

    /// Text that would create the file `run` in a shell, or read or write files in curl.
    private static let hostile = """
        '; touch run; ' "$(touch run)" `touch run` $HOME \\n %s %% ; touch run & | > run
        touch run
        é 😀 !! * ~ # {a,b} [1-3] \\' \\" \\
        """

    static let samples = [
        Sample(testDescription: "GET", target: "/echo?a=1&b=%20%27"),
        Sample(testDescription: "HEAD", method: .head, target: "/text.txt"),
        Sample(testDescription: "DELETE", method: .delete),
        Sample(testDescription: "POST without a body", method: .post),
        Sample(testDescription: "globs", target: "/echo?q={a,b}&r=[1-3]"),
        Sample(testDescription: "dots in the path", target: "/a/../echo"),
        Sample(testDescription: "commands in the query", target: "/echo?q='$(touch%20run)'`touch%20run`;touch%20run"),
        Sample(
            testDescription: "fields",
            fields: [
                .userAgent: "test/1", .accept: "*/*", .range: "bytes=0-",
                HTTPField.Name("X-Empty")!: "",
                HTTPField.Name("X-Hostile")!: #"'; touch run; '"$(touch run)`touch run`@run"#,
            ]
        ),
        Sample(testDescription: "text", method: .put) { _ in .text(hostile) },
        Sample(testDescription: "the name of a file", method: .post) { folder in
            try folder.write("secret", to: "secret")
            return .text("@secret")
        },
        Sample(testDescription: "an option", method: .post) { _ in .text("-o run") },
        Sample(testDescription: "all bytes", method: .post) { _ in .bytes((0...255).map { UInt8($0) }) },
        Sample(testDescription: "an option in bytes", method: .post) { _ in .bytes(Array("-v \0 %s".utf8)) },
        Sample(testDescription: "a form", method: .post) { _ in .form(["q": "a b", "r": hostile]) },
        Sample(testDescription: "JSON", method: .patch) { _ in try .json(["a": hostile]) },
        Sample(testDescription: "a file", method: .put) { folder in
            .file(try folder.write(hostile, to: "-o run; touch run '$(touch run)"))
        },
        Sample(testDescription: "a multipart form", method: .post) { folder in
            .multipart([
                .field("a", hostile), .file("b", path: try folder.write("x\0y", to: "$(touch run)'")),
                .bytes("c", fileName: "c\"'", [0, 1, 2, 255]),
            ])
        },
        Sample(testDescription: "a compressed body", method: .post) { _ in .text(hostile).compressed() },
        Sample(testDescription: "an empty body", method: .post) { _ in .bytes([]) },
    ]

    @Test("curl sends the same request, and the shell runs nothing else", arguments: samples)
    func same(_ sample: Sample) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let name = "curl-\(Self.samples.firstIndex { $0.testDescription == sample.testDescription } ?? -1).wild.test"
        let request = HTTPDNSClient.Request(
            method: sample.method,
            url: "http://\(name):\(rig.httpPort)\(sample.target)",
            headerFields: sample.fields,
            body: try sample.body(folder)
        ) {
            $0.addresses = .only(["127.0.0.3"])
            $0.decodesBody = false
            $0.timeouts.total = .seconds(60)
        }
        let mark = rig.accessLogMark()
        let sent = try await withClient(rig.settings(mappings: [:])) { client in
            try await client.execute(request).body.collect(upTo: .mebibytes(1))
        }
        let before = try folder.names
        let command = request.curlCommand(redacting: .off)
        let script = "cd '\(folder.path)' && \(command)"
        let result = try await Command("sh", ["-c", script]).run()
        #expect(result.status == 0, "\(command): \(result.error)")
        let lines = try await rig.awaitAccessLog(since: mark, count: 2) { $0.host.hasPrefix("\(name):") }
        #expect(lines[0].request == lines[1].request && lines[0].status == lines[1].status, "\(command)")
        #expect(lines[0].address == lines[1].address && lines[0].userAgent == lines[1].userAgent)
        if sample.target.contains("echo") {
            let texts = try [sent, Array(result.output.utf8)].map {
                try comparable($0, isCoded: request.body.description)
            }
            #expect(texts[0] == texts[1], "\(command)")
        }
        #expect(try folder.names == before, "\(command)")
    }

    /// What arrived, without the numbers of connections. gzip programs make different bytes.
    private func comparable(_ echo: [UInt8], isCoded: String) throws -> [String: String] {
        let object = try JSONSerialization.jsonObject(with: Data(echo)) as? [String: Any] ?? [:]
        var parts: [String: String] = [:]
        for name in ["method", "target", "host", "protocol", "bodyBytes", "bodyMD5"] {
            parts[name] = "\(object[name] ?? "")"
        }
        var headers = object["headers"] as? [String: Any] ?? [:]
        if headers["Content-Encoding"] ?? headers["content-encoding"] != nil {
            parts["bodyBytes"] = nil
            parts["bodyMD5"] = nil
            for name in ["Content-Length", "content-length"] { headers[name] = nil }
        }
        for (name, value) in headers { parts["field \(name.lowercased())"] = "\(value)" }
        return parts
    }

    @Test(
        "A text that is no URL runs nothing",
        arguments: [
            "-o run", "--config=run", "'; touch run; '", "$(touch run)", "`touch run`\ntouch run", "@run", "",
            "file:///etc/passwd",
        ]
    )
    func noURL(text: String) async throws {
        let folder = try TemporaryFolder()
        for redaction in [HTTPDNSClient.Redaction.off, .standard] {
            let command = HTTPDNSClient.Request(url: text).curlCommand(redacting: redaction)
            let result = try await Command("sh", ["-c", "cd '\(folder.path)' && \(command)"]).run()
            #expect(result.status != 0 && result.output.isEmpty, "\(command)")
            #expect(try folder.names.isEmpty, "\(command)")
        }
    }
}
