// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// By the bytes that servers got. The whole table, on a scripted wire, is in
/// RedirectMatrixTests.
struct RedirectMatrixOverTheWireTests {
    /// What is sent on; "+" stands for a body. The columns are GET, HEAD, POST, PUT and DELETE, the latter three with a body.
    private static let table: [Int: [String]] = [
        301: ["GET", "HEAD", "GET", "PUT+", "DELETE+"],
        302: ["GET", "HEAD", "GET", "PUT+", "DELETE+"],
        303: ["GET", "HEAD", "GET", "GET", "GET"],
        307: ["GET", "HEAD", "POST+", "PUT+", "DELETE+"],
        308: ["GET", "HEAD", "POST+", "PUT+", "DELETE+"],
    ]
    private static let methods = [HTTPRequest.Method.get, .head, .post, .put, .delete]

    private func settings() throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        for name in ["one.test", "two.test"] {
            configuration.resolver.mappings[try HTTPDNSMapping.Key(name)] = .addresses(["127.0.0.1"])
        }
        configuration.makePatient()
        return configuration
    }

    /// Five codes times five methods.
    @Test(
        "A redirect reaches the second server with the method and body of its code",
        arguments: [301, 302, 303, 307, 308],
        0..<5
    )
    func matrix(status: Int, column: Int) async throws {
        let method = Self.methods[column]
        let hasBody = column >= 2
        let expected = try #require(Self.table[status])[column]
        let (name, sendsBody) = (expected.filter { $0 != "+" }, expected.hasSuffix("+"))
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
        let second = try RawServer(
            .readHead,
            .read(sendsBody ? 10 : 0),
            .sendText(answer + (name == "HEAD" ? "" : "ok")),
            .readToEnd
        )
        let first = try RawServer(
            .readHead,
            .read(hasBody ? 10 : 0),
            .respond(status: "\(status) X", fields: "Location: http://two.test:\(second.port)/new\r\n"),
            .readToEnd
        )
        try await withClient(settings()) { client in
            let response = try await client.execute(
                HTTPDNSClient.Request(
                    method: method,
                    url: "http://one.test:\(first.port)/old",
                    headerFields: [.accept: "*/*"],
                    body: hasBody ? .form(["a": "body+x"]) : .none
                )
            )
            #expect(response.status == .ok && response.exchanges.map(\.status.code) == [status, 200])
            #expect(try await response.text() == (name == "HEAD" ? "" : "ok"))
        }
        // The client has gone: nothing more comes.
        let before = try await first.awaitConnections { $0.count == 1 && $0[0].isClosedByClient }[0].text
        let after = try await second.awaitConnections { $0.count == 1 && $0[0].isClosedByClient }[0].text
        #expect(before.hasPrefix("\(method.rawValue) /old HTTP/1.1\r\nHost: one.test:\(first.port)\r\n"))
        #expect(before.hasSuffix(hasBody ? "\r\n\r\na=body%2Bx" : "\r\n\r\n"))
        #expect(after.hasPrefix("\(name) /new HTTP/1.1\r\nHost: two.test:\(second.port)\r\n"), "\(after)")
        #expect(after.hasSuffix(sendsBody ? "\r\n\r\na=body%2Bx" : "\r\n\r\n"), "\(after)")
        for field in ["Content-Length: 10\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"] {
            #expect(after.contains(field) == sendsBody, "\(field) in \(after)")
        }
        #expect(!after.contains("Transfer-Encoding") && after.contains("Accept: */*\r\n"))
    }
}
