// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Downloads over the wire: whole or not at all.
struct DownloadTests {
    private func settings(_ address: String = "127.0.0.1") throws -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses([address])
        configuration.makePatient()
        return configuration
    }

    /// The download is canceled, cut or late.
    @Test("An interrupted download leaves the old file and nothing else", arguments: ["canceled", "cut", "late"])
    func ended(how: String) async throws {
        let folder = try TemporaryFolder()
        try folder.replace("a", with: "old")
        let begun = Gate()
        let cut = Gate()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n"),
            .send([UInt8](repeating: 1, count: 2_000_000)),
            .wait(cut)
        )
        try await withClient(settings()) { client in
            let task = Task {
                try await client.download("http://one.test:\(server.port)/", to: folder.path("a")) {
                    if how == "late" { $0.timeouts.total = .seconds(1) }
                } progress: {
                    if $0.bytes >= 1_000_000 { begun.open() }
                }
            }
            if how != "late" {
                await begun.passage()
                let found = try folder.names
                #expect(found.count == 2)
            }
            switch how {
            case "canceled":
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            case "cut":
                cut.open()
                #expect(try await refusal { _ = try await task.value }.code == .connectionLost)
            default:
                #expect(try await refusal { _ = try await task.value }.code == .timedOut)
            }
        }
        #expect(try folder.names == ["a"] && folder.read("a") == "old")
    }

    @Test(
        "A download from nginx arrives in the file byte by byte",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: ["1m.bin", "1k.bin", "100m.bin"]
    )
    func whole(name: String) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        try await withClient(rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])) { client in
            let last = Lock<HTTPDNSClient.Progress?>(nil)
            let request = HTTPDNSClient.Request(url: "https://one.test:\(rig.tlsPort)/\(name)")
            let download = try await client.download(request, to: folder.path("a")) { step in
                last.withLock { last in
                    #expect(step.bytes >= last?.bytes ?? 0)
                    last = step
                }
            }
            let source = "\(rig.folder)/nginx/www/\(name)"
            #expect(try await Command("cmp", [source, folder.path("a")]).run().status == 0)
            #expect(
                last.withLock { $0 }
                    == HTTPDNSClient.Progress(bytes: download.bytes, total: download.bytes, isComplete: true)
            )
        }
    }

    @Test(
        "Group permissions are dropped when the program may not set the file's group",
        .enabled("only root becomes somebody else") { getuid() == 0 }
    )
    func foreignGroup() async throws {
        let server = try RawServer(.readHead, .respond("new"))
        let folder = try TemporaryFolder()
        try folder.replace("a", with: "old")
        let path = folder.path("a")
        #expect(chmod(path, 0o664) == 0 && chown(path, 65_534, 12_346) == 0 && chown(folder.path, 65_534, 65_534) == 0)
        let result = try await Command(
            "setpriv",
            [
                "--reuid=65534", "--regid=65534", "--clear-groups", try BuiltProduct.path("resolve-test"), "fetch",
                "http://one.test:\(server.port)/", "--map", "one.test=127.0.0.1", "-o", path,
            ]
        ).run(within: .seconds(60))
        #expect(result.status == 0, "\(result)")
        var status = stat()
        #expect(stat(path, &status) == 0 && folder.read("a") == "new")
        #expect(status.st_gid == 65_534 && status.st_mode & 0o777 == 0o644, "\(String(status.st_mode, radix: 8))")
    }

    /// The measured program is the command line: its standard output is the consumer's pipe, and nothing else is in the
    /// process.
    /// 1 GiB over HTTP/1.1; the process grows by less than 16 MiB. The coded body is 1,024 members of random bytes.
    @Test("A slow consumer of a download does not make the process grow", arguments: ["identity", "gzip"])
    func slowConsumer(coding: String) async throws {
        let size = 1 << 30
        let folder = try TemporaryFolder()
        var piece = [UInt8](repeating: 7, count: 1 << 20)
        if coding == "gzip" {
            let made = try await Command(
                "bash",
                ["-c", "head -c 1M /dev/urandom | gzip -1 >$1", "bash", folder.path("a")]
            )
            .run(within: .seconds(60))
            #expect(made.status == 0, "\(made)")
            piece = Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("a"))))
        }
        let codingField = coding == "gzip" ? "Content-Encoding: gzip\r\n" : ""
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\n\(codingField)Content-Length: \(piece.count << 10)\r\n\r\n"),
            .repeatForever([.send(piece)])
        )
        // clear_refs 5 resets the peak (proc(5)), so that the program's start does not count.
        let script = """
            mkfifo "$1/pipe"
            "$2" fetch "http://one.test:$3/" --compressed --map one.test=127.0.0.1 -o - >"$1/pipe" 2>"$1/report" & program=$!
            exec 3<"$1/pipe"
            read_some() { dd bs="$1" count=1 iflag=fullblock status=none <&3 | wc -c; }
            kib() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$program/status"; }
            total=$(read_some 4194304)
            echo 5 >"/proc/$program/clear_refs"
            before=$(kib VmRSS)
            for piece in $(seq 127); do
                sleep 0.02
                total=$((total + $(read_some 8388608)))
            done
            after=$(kib VmHWM)
            total=$((total + $(wc -c <&3)))
            wait $program
            echo "$? $before $after $total"
            """
        let result = try await Command(
            "bash",
            ["-c", script, "bash", folder.path, try BuiltProduct.path("resolve-test"), "\(server.port)"]
        ).run(within: .seconds(200))
        let figures = result.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        try #require(figures.count == 4, "\(result)")
        #expect(figures[0] == 0 && figures[3] == size, "\(result)")
        let growth = figures[2] - figures[1]
        #expect(growth < 16 * 1024, "from \(figures[1]) KiB to \(figures[2]) KiB")
        print("1 GiB (\(coding)) through a slow consumer: from \(figures[1]) KiB to \(figures[2]) KiB")
    }
}
