// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import Foundation
import ServerRig
import Testing

/// Command lines of curl's manual page and of common tutorials, on loopback: the installed curl and `resolve-test fetch` run with
/// the same arguments. Exit status, standard output and written files are compared.
@Suite(
    "Pasted command lines of curl",
    .enabled(if: ServerRig.isAvailable([.nginx]) && Command.find("curl") != nil),
    .serialized
)
struct CurlLinesTests {
    /// A line, with `HTTP`, `TLS` and `LIAR` for origins of the rig. `LIAR` has the certificate of another name.
    struct Line: CustomTestStringConvertible, Sendable {
        var text: String
        /// The expected exit status of both programs; that of `fetch` alone where it differs.
        var status: Int32
        /// The reason for a difference on purpose, as in Docs/CommandLine.md.
        var difference: String?
        var testDescription: String { text }
        /// Whether the User-Agent is compared; curl has one of its own otherwise.
        var setsAgent: Bool { text.contains("-A ") || text.contains("User-Agent") }

        init(_ text: String, _ status: Int32 = 0, difference: String? = nil) {
            (self.text, self.status, self.difference) = (text, status, difference)
        }
    }

    static let lines = [
        Line("HTTP/text.txt"), Line("-s TLS/text.txt"), Line("--silent --show-error TLS/a.jpg"),
        Line("one.test:PORT/echo"), Line("-sS --url TLS/echo"), Line("HTTP/echo?a=1\\&b=2"),
        Line("-o page.txt HTTP/text.txt"), Line("--output page.txt TLS/text.txt"), Line("-O HTTP/a.jpg"),
        Line("-sSLo a.jpg TLS/a.jpg"), Line("HTTP/a.jpg -o a.jpg -s"), Line("-sO TLS/1k.bin?x=1"),
        Line("-o /dev/null -s -w '%{http_code}' TLS/text.txt"),
        Line("-s -o /dev/null -w '%{http_code} %{content_type} %{size_download}\\n' HTTP/a.jpg"),
        Line("-sw '\\n%{response_code} %{url_effective} %{num_redirects}\\n' HTTP/status/404"),
        Line("-so /dev/null -w '%{remote_ip}:%{remote_port} %{scheme} %{method} %{http_version}' TLS/a.jpg"),
        Line("-so /dev/null -w '%{redirect_url} %{ssl_verify_result} %{num_connects}' 'TLS/redirect/302?to=/echo'"),
        Line("-so /dev/null -w '%header{content-type} %{exitcode} %{errormsg}' HTTP/echo"),
        Line("-I HTTP/text.txt"), Line("-sI TLS/a.jpg"), Line("--head -L HTTP/redirect/301?to=/text.txt"),
        Line("-i HTTP/status/404"), Line("-sD - -o /dev/null TLS/text.txt"), Line("-D head.txt -o body.txt HTTP/a.jpg"),
        Line("-sI -o /dev/null -w '%{http_code}' HTTP/text.txt"), Line("-i -o page.txt HTTP/text.txt"),
        Line("-iD head.txt HTTP/echo"), Line("-fi HTTP/status/404", 22),
        Line("HTTP/redirect/302?to=/text.txt"), Line("-L HTTP/redirect/302?to=/text.txt"),
        Line("-sL -o /dev/null -w '%{num_redirects} %{http_code} %{url_effective}' HTTP/hops/3"),
        Line("-L --max-redirs 5 HTTP/hops/3"), Line("--max-redirs 1 HTTP/hops/3"), Line("-iL HTTP/hops/2"),
        Line("-X DELETE HTTP/echo"), Line("-XPUT TLS/echo -d x=1"), Line("--request PATCH --data 'a=b' HTTP/echo"),
        Line("-d 'name=daniel&age=3' HTTP/echo"), Line("-d a=1 -d b=2 TLS/echo"), Line("-d@data.txt HTTP/echo"),
        Line("--data-binary @data.txt HTTP/echo"), Line("--data-raw '@x&y' HTTP/echo"),
        Line("--data-urlencode 'q=a b&c/é' --data-urlencode n@data.txt HTTP/echo"),
        Line("-H 'Content-Type: application/json' -d '{\"a\":1}' TLS/echo"), Line("-d '' HTTP/echo"),
        Line("-G -d q=kitties --data-urlencode 'c=a b' HTTP/echo"), Line("-G -d b=2 'TLS/echo?a=1'"),
        Line("-IG -d a=1 HTTP/echo"), Line("-L -d a=1 'HTTP/redirect/302?to=/echo'"),
        Line("-L -d a=1 'HTTP/redirect/307?to=/echo'"),
        Line("-L -X POST -w '%{method}' 'HTTP/redirect/303?to=/text.txt'"),
        Line("-H 'X-First-Name: Joe' -H 'X-Empty;' HTTP/echo"), Line("-HHost:other.test HTTP/echo"),
        Line("-H @fields.txt TLS/echo"), Line("-A 'Mozilla/4.0' -e http://www.example.org/ HTTP/echo"),
        Line("-b 'name=Daniel; b=2' HTTP/cookie/show"), Line("-H 'User-Agent:' HTTP/echo"),
        Line("-u user:secret HTTP/auth/text.txt"), Line("-u user:wrong HTTP/auth/text.txt"),
        Line("http://user:secret@one.test:PORT/auth/text.txt"), Line("-fu user:wrong HTTP/auth/text.txt", 22),
        Line("--oauth2-bearer abc HTTP/echo"), Line("-r 0-499 HTTP/text.txt"), Line("--range -100 TLS/text.txt"),
        Line("-C 1000 -o part.txt HTTP/text.txt"), Line("-C - -o start.txt HTTP/text.txt"),
        Line("-C 99999999 -o start.txt HTTP/text.txt"), Line("-fC 5 -o start.txt HTTP/status/416"),
        Line("-fC 99999999 -o start.txt HTTP/text.txt", 22),
        Line("--fail-with-body -C 5 -o start.txt HTTP/status/416", 22),
        Line("--compressed HTTP/gzip/text.txt"), Line("--limit-rate 10M HTTP/text.txt"),
        Line("-T data.txt HTTP/stored/LINE.txt"), Line("-T data.txt HTTP/upload"),
        Line("-T /dev/null HTTP/upload"), Line("-T missing.txt HTTP/upload", 26),
        Line("--http1.1 TLS/echo"), Line("-0 HTTP/echo"), Line("--http2 TLS/echo"), Line("-4 HTTP/text.txt"),
        Line("--connect-timeout 5 -m 20 HTTP/text.txt"), Line("--retry 2 HTTP/text.txt"),
        Line("--interface lo HTTP/text.txt"), Line("--interface 127.0.0.1 HTTP/text.txt"),
        Line("--connect-to ::127.0.0.3:PORT http://nowhere.test/health"),
        Line("--resolve four.test:PORT:127.0.0.4 http://four.test:PORT/health"),
        Line("--resolve 127.0.0.9:PORT:127.0.0.4 http://127.0.0.9:PORT/health"),
        Line("--resolve localhost:PORT:127.0.0.4 http://localhost:PORT/health"),
        Line("--resolve '*:PORT:127.0.0.4' http://localhost:PORT/health"),
        Line("--resolve a.test:PORT:127.0.0.4 --resolve '*:PORT:127.0.0.3' http://a.test:PORT/health"),
        Line("--resolve a.test:PORT:127.0.0.4 --resolve -a.test:PORT http://a.test:PORT/health", 6),
        Line("--resolve -a.test:PORT --resolve a.test:PORT:127.0.0.4 http://a.test:PORT/health"),
        Line("-L --resolve localhost:PORT:127.0.0.4 'http://localhost:PORT/redirect/302?to=HTTP/health'"),
        Line("--connect-to two.test:443:127.0.0.3:TLSPORT https://two.test/health"),
        Line("-k LIAR/empty"), Line("-x HTTP/ http://two.test/health"),
        Line("--noproxy '*' -x nothing:1 HTTP/text.txt"),
        Line("--tlsv1.2 --proto '=https' -sSf TLS/text.txt"), Line("--fail-with-body HTTP/status/500", 22),
        Line("-f HTTP/status/404", 22), Line("--fail TLS/status/503", 22), Line("-fsSL HTTP/text.txt"),
        Line("-gN --path-as-is HTTP/text.txt"), Line("HTTP/empty"), Line("-m 0.3 HTTP/stall/20", 28),
        Line("http://127.0.0.1:1/", 7), Line("-s http://nothing.invalid/", 6), Line("LIAR/text.txt", 60),
        Line("https://one.test:PORT/", 35), Line("-L HTTP/loop", 47), Line("-L --max-redirs 1 HTTP/hops/3", 47),
        Line("-L --max-redirs 0 HTTP/hops/3", 47), Line("HTTP/close", 52), Line("HTTP/truncated", 18),
        Line("-C 10 -o start.txt HTTP/echo", 33), Line("-x http://127.0.0.1:1 http://two.test/", 7),
        Line("-x nothing.invalid:1 http://two.test/", 5), Line("--interface none0 HTTP/text.txt", 45),
        Line("-so /dev/null -w '%{http_code} %{exitcode}' http://127.0.0.1:1/", 7),
        Line("--max-filesize 100 HTTP/text.txt", 63),
        Line("-H 'Connection: keep-alive' -H 'Accept: */*' --compressed TLS/text.txt"),
        Line("-H 'Connection: close' -H 'Keep-Alive: 5' -H 'Proxy-Connection: keep-alive' HTTP/text.txt"),
        Line("-H 'Content-Length: 3' -d a=1 HTTP/echo"), Line("-H 'Accept:' HTTP/echo"), Line("-H 'Accept:' TLS/echo"),
        Line("-A sw/1 HTTP/echo"), Line("-A sw/1 -L 'TLS/redirect/302?to=/echo'"), Line("-r 5 HTTP/text.txt"),
        Line("-m 0 --connect-timeout 0 --max-filesize 0 HTTP/text.txt"), Line("-G -d '' HTTP/echo"),
        Line("-G -d a=1 'HTTP/echo?'"), Line("-G -d a=1 'HTTP/echo?b&'"), Line("-G -d '' 'HTTP/echo?b'"),
        Line("--retry 1 --retry-delay 1 -so page.txt -w '%{http_code} %{num_redirects}' HTTP/status/503"),
        Line("--digest -u user:secret -so /dev/null -w '%{num_redirects}' HTTP/auth/text.txt"),
        Line("-6 --resolve 'six.test:PORT:127.0.0.2,[::1]' http://six.test:PORT/health"),
        Line("-iL --max-redirs 1 HTTP/hops/3", 47),
        Line("-sL --max-redirs 1 -D head.txt -o body.txt -w '%{http_code} %{num_redirects}' HTTP/hops/3", 47),
        Line("-sL -w '%{http_code} %{num_redirects}' 'HTTP/redirect/302?to=http://127.0.0.1:1/'", 7),
        Line("-so /dev/null -w '%{size_upload} %{http_connect} %{nope}' -d a=1 HTTP/echo"),
        Line("-L --connect-to ::127.0.0.3:PORT 'HTTP/redirect/302?to=http://nowhere.test/health'"),
        Line("--connect-to one.test::127.0.0.3: --connect-to one.test::127.0.0.4: HTTP/health"),
        Line("--connect-to ::127.0.0.4: --connect-to one.test::127.0.0.3: HTTP/health"),
        Line("-L --fail-early HTTP/text.txt", 2, difference: "one URL for each run"),
        Line("--proto =https HTTP/text.txt", 1), Line("--proto -all,http HTTP/text.txt"),
        Line("--proto =http,https --proto -all,http TLS/text.txt", 1),
        Line("-L --proto =http 'HTTP/redirect/302?to=TLS/text.txt'", 1),
        Line("-L --proto-redir =https 'HTTP/redirect/302?to=HTTP/text.txt'", 1),
        Line("-L --proto-redir =https 'HTTP/redirect/302?to=TLS/text.txt'"),
        Line("--proto-redir =https 'HTTP/redirect/302?to=HTTP/text.txt'"),
        Line("--pinnedpubkey '' TLS/text.txt", 2, difference: "and an empty `--pinnedpubkey`"),
        Line("--pinnedpubkey ';' TLS/text.txt", 2, difference: "and an empty `--pinnedpubkey`"),
        Line("-o missing/page.txt HTTP/text.txt", 23),
        Line("-o . HTTP/text.txt", 23),
        Line("-so /dev/null -A a/1 -w '%{size_header} %{size_request} %{local_ip}' HTTP/text.txt"),
        Line("-so /dev/null -A a/1 -w '%{size_header} %{size_request} %{local_ip}' TLS/text.txt"),
        Line("-so /dev/null -A a/1 -w '%{size_header} %{size_request} %{size_upload}' -d a=1 HTTP/echo"),
        Line("-so /dev/null -A a/1 -w '%{size_header} %{size_request}' -H Expect: -T data.txt HTTP/upload"),
        Line("-sL -o /dev/null -A a/1 -w '%{size_header} %{size_request}' HTTP/hops/3"),
        Line(
            "-so /dev/null -A a/1 -w '%{size_header} %{size_request} %{local_ip} %{local_port}' http://127.0.0.1:1/",
            7
        ),
        Line("-O HTTP/", 2, difference: "usage errors are 2: nothing was sent"),
        Line("ftp://127.0.0.1:1/", 2, difference: "usage errors are 2: nothing was sent"),
        Line("http://one.test:99999/", 2, difference: "usage errors are 2: nothing was sent"),
        Line("--raw HTTP/text.txt"), Line("--raw HTTP/trailer"), Line("HTTP/trailer"),
        Line("--raw --compressed HTTP/gzip/text.txt"), Line("--raw TLS/text.txt"),
        Line("HTTP/text.txt HTTP/a.jpg", 2, difference: "one URL for each run"),
        Line("--json '{}' HTTP/echo", 2, difference: "`--json` is the format of the output"),
    ]

    @Test("fetch ends, prints and writes as curl does", arguments: lines)
    func same(_ line: Line) async throws {
        let rig = try await ServerRig.shared()
        let byCurl = try await run(line, "curl", rig)
        let byFetch = try await run(line, "'\(Program.path)' fetch", rig)
        #expect(byFetch.status == line.status, "\(byFetch.error)")
        if line.difference != nil {
            #expect(byFetch.status != byCurl.status && !byFetch.error.isEmpty, "\(byCurl) \(byFetch)")
            return
        }
        #expect(byCurl.status == line.status, "\(byCurl.error)")
        #expect(byFetch.output == byCurl.output, "\(byFetch.error)")
        #expect(byFetch.files == byCurl.files)
    }

    /// The parts differ in the boundary only. A RawServer sees the bytes.
    @Test(
        "The parts of -F have curl's names, types and contents",
        arguments: [
            "-F a=1 -F 'b=two words'", "-F 'file=@data.txt'", "-F 'file=@data.txt;type=text/csv;filename=x.csv'",
            "-F 'text=<data.txt'", "-F 'j={\"a\":1};type=application/json'",
            "--form-string 'a=@x;y' -F image=@start.txt", "-F 'a=b; type=text/x'",
            "-F 'a= b ;type=text/plain;charset=utf-8'",
            "-F 'a=@data.txt; filename=x; type=text/plain; charset=utf-8'", "-F 'x=<latin.txt'",
            "-H 'Content-Type: multipart/form-data' -F a=1",
        ]
    )
    func forms(_ options: String) async throws {
        let server = try RawServer(.readHead, .respond("ok"), .readToEnd)
        let folder = try TemporaryFolder()
        try folder.write("one\r\ntwo & three\n", to: "data.txt")
        try folder.write("line 0 of", to: "start.txt")
        try Data([0x61, 0xe9, 0xff]).write(to: URL(fileURLWithPath: folder.path + "/latin.txt"))
        for program in ["curl -s -H 'Connection: close'", "'\(Program.path)' fetch -s"] {
            let script = "cd '\(folder.path)' && \(program) \(options) http://127.0.0.1:\(server.port)/"
            let result = try await Command("sh", ["-c", script]).run()
            #expect(result.status == 0 && result.output == "ok", "\(result)")
        }
        let connections = try await server.awaitConnections { $0.count == 2 && $0.allSatisfy(\.isClosedByClient) }
        let bodies = connections.map { connection in
            let body = connection.text.split(separator: "\r\n\r\n", maxSplits: 1).last ?? ""
            let boundary = body.prefix { $0 != "\r\n" }
            return body.replacing(boundary, with: "--boundary")
        }
        #expect(!options.contains("latin") || connections.allSatisfy { $0.received.contains(0xff) })
        #expect(bodies[0] == bodies[1] && bodies[0].hasSuffix("--boundary--\r\n"), "\(bodies)")
        #expect(connections.allSatisfy { $0.text.contains("Content-Type: multipart/form-data; boundary=") })
    }

    /// The differences on purpose are those that the page lists.
    @Test("Each difference on purpose is in the documentation")
    func documented() throws {
        let page = try Repository.text("Docs/CommandLine.md")
        for line in Self.lines {
            guard let difference = line.difference else { continue }
            #expect(page.contains(difference), "\(difference)")
        }
        #expect(Self.lines.count >= 60)
    }

    private struct Outcome: Sendable {
        var status: Int32
        var output: [String]
        var files: [String: [String]]
        var error: String
    }

    private func run(_ line: Line, _ program: String, _ rig: ServerRig) async throws -> Outcome {
        let folder = try TemporaryFolder()
        try folder.write("one\r\ntwo & three\n", to: "data.txt")
        try folder.write("X-From: file\nX-Other: b\n", to: "fields.txt")
        try folder.write(String(repeating: "line 0 of", count: 1), to: "start.txt")
        let number = Self.lines.firstIndex { $0.text == line.text } ?? -1
        var text = line.text
        for (name, value) in [
            ("TLSPORT", "\(rig.tlsPort)"), ("PORT", "\(rig.httpPort)"), ("LINE", "line-\(number)"),
            ("HTTP/", "http://one.test:\(rig.httpPort)/"), ("TLS/", "https://one.test:\(rig.tlsPort)/"),
            ("LIAR/", "https://liar.test:\(rig.tlsPort)/"),
        ] {
            text = text.replacing(name, with: value)
        }
        let resolve = [
            "one.test:\(rig.httpPort):127.0.0.2", "one.test:\(rig.tlsPort):127.0.0.2",
            "liar.test:\(rig.tlsPort):127.0.0.5",
        ].map { " --resolve \($0)" }.joined()
        let script = "cd '\(folder.path)' && \(program) \(text)\(resolve) --cacert '\(rig.certificateAuthorityFile)'"
        let environment = ["http_proxy": "", "https_proxy": "", "all_proxy": "", "no_proxy": "", "HOME": folder.path]
        let result = try await Command("sh", ["-c", script], environment: environment).run()
        var files: [String: [String]] = [:]
        for name in try folder.names { files[name] = comparable(folder.read(name) ?? "", line.setsAgent) }
        return Outcome(
            status: result.status,
            output: comparable(result.output, line.setsAgent),
            files: files,
            error: result.error
        )
    }

    /// The lines without times, numbers of connections and the names of the programs. Blanks and line ends of header fields do not
    /// count.
    private func comparable(_ text: String, _ hasAgent: Bool) -> [String] {
        var lines: [String] = []
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            var line = String(line.reversed().drop { $0 == " " || $0 == "\r" }.reversed())
            if line.lowercased().hasPrefix("date:") { continue }
            if line.hasPrefix("{\"address\":") {
                line.replace(/"connection":[0-9]+,|,"request":[0-9]+/, with: "")
                if !hasAgent { line.replace(/"[Uu]ser-[Aa]gent":"[^"]*",?/, with: "") }
                line.replace(/"[Ee]xpect":"[^"]*",?/, with: "")
                line.replace(",}", with: "}")
            }
            lines.append(line)
        }
        return lines
    }
}
#endif
