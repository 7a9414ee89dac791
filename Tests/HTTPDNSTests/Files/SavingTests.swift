// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import Foundation
import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

/// What a download promises, with `DownloadTests`: the file is there whole or not at all.
struct SavingTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func contents(_ name: String) throws -> String { try #require(folder.read(name)) }

    private func rig(_ chunks: [[UInt8]], status: HTTPResponse.Status = .ok, endingWith failure: TransferFailure? = nil)
        throws
        -> Rig
    {
        try Rig(
            wire: ScriptedWire { request, _ in .ok(from: request, status: status, chunks: chunks, endingWith: failure) }
        )
    }

    /// The same holds behind a link.
    @Test("A saved body replaces the old file as a whole and keeps its permissions")
    func whole() async throws {
        try folder.write("old", to: "a")
        chmod(folder.path("a"), 0o600)
        try folder.link("link", to: "a")
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 700_000)
        let download = try await rig([Array("new ".utf8), long]).client.download(
            "https://one.test/",
            to: folder.path("link")
        )
        #expect(download.bytes == 700_004 && download.path.hasSuffix("/a") && download.response.status == .ok)
        #expect(try folder.names == ["a", "link"])
        #expect(try contents("a").hasPrefix("new xxx") && contents("a").count == 700_004)
        let rights = try FileManager.default.attributesOfItem(atPath: folder.path("a"))[.posixPermissions] as? Int
        #expect(rights == 0o600)

        #expect(try await rig([]).client.get("https://one.test/").body.save(to: folder.path("empty")) == 0)
        #expect(try folder.names == ["a", "empty", "link"] && contents("empty").isEmpty)
    }

    /// The link may lead through other links and folders.
    @Test("Saving through a dangling link keeps the link, and a circle is an error")
    func danglingLinks() async throws {
        try folder.makeFolder("files")
        try folder.link("current", to: "files/next")
        try folder.link("files/next", to: "v2.bin")
        try folder.link("absolute", to: folder.path("v3.bin"))
        try folder.link("circle", to: "circle")
        try folder.link("nowhere", to: "missing/v4.bin")
        for name in ["current", "absolute"] {
            let download = try await rig([[1, 2]]).client.download("https://one.test/", to: folder.path(name))
            #expect(download.path.hasSuffix(name == "current" ? "/files/v2.bin" : "/v3.bin"))
        }
        for name in ["circle", "nowhere"] {
            let rig = try rig([[1]])
            let error = await clientError {
                try await rig.client.download("https://one.test/", to: folder.path(name))
            }
            #expect(error?.code == .fileFailed && rig.wire.requests.isEmpty)
        }
        #expect(try folder.names == ["absolute", "circle", "current", "files", "nowhere", "v3.bin"])
        for (name, target) in [("current", "files/next"), ("files/next", "v2.bin"), ("circle", "circle")] {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path(name)) == target)
        }
        #expect(try contents("files/v2.bin") == "\u{1}\u{2}" && contents("v3.bin") == "\u{1}\u{2}")
    }

    @Test("A body over the limit is not saved, whether its length is declared or not", arguments: [true, false])
    func tooLong(isDeclared: Bool) async throws {
        let fields: HTTPFields = isDeclared ? [.contentLength: "6"] : [:]
        let rig = try Rig(
            wire: ScriptedWire { request, _ in .ok(from: request, fields: fields, chunks: [[1, 2, 3], [4, 5, 6]]) }
        )
        let path = folder.path("a")
        let error = await clientError {
            try await rig.client.get("https://one.test/").body.save(to: path, upTo: .bytes(5))
        }
        #expect(error?.code == .responseTooLarge)
        #expect(try folder.names == [])
        // For a length that is declared no file is begun, so that a folder that is missing is not noticed.
        let unbegun = await clientError {
            try await rig.client.get("https://one.test/").body.save(to: folder.path("missing/a"), upTo: .bytes(5))
        }
        #expect(unbegun?.code == (isDeclared ? .responseTooLarge : .fileFailed))
        #expect(try await rig.client.get("https://one.test/").body.save(to: path, upTo: .bytes(6)) == 6)
        _ = try await rig.client.download("https://one.test/", to: path, upTo: .bytes(7))
        #expect(rig.wire.requests.last?.limits.maximumResponseBytes == 7)
    }

    @Test("A download has what the server sent, and is decoded when it is asked for", arguments: [false, true])
    func decoding(isAsked: Bool) async throws {
        let rig = try rig([[1]])
        _ = try await rig.client.download("https://one.test/", to: folder.path("a"), decodesBody: isAsked)
        #expect(rig.wire.requests.map { $0.decodes } == [isAsked])
    }

    @Test("A broken body and an unsuccessful status leave the old file and nothing else")
    func failures() async throws {
        try folder.write("old", to: "a")
        let broken = try rig([[1]], endingWith: TransferFailure(code: .connectionLost, phase: .body, message: "broke"))
        let error = await clientError { try await broken.client.download("https://one.test/", to: folder.path("a")) }
        #expect(error?.code == .connectionLost)
        let missing = try rig([[1]], status: .notFound)
        let status = await clientError { try await missing.client.download("https://one.test/", to: folder.path("a")) }
        #expect(status?.code == .unexpectedStatus && status?.message.contains("404") == true)
        #expect(status?.requestMayHaveBeenSent == true && status?.host == "one.test")
        #expect(try folder.names == ["a"] && contents("a") == "old")
    }

    @Test("300 downloads to a slow disk take at most 16 threads")
    func boundedThreads() async throws {
        let rig = try rig([[1, 2, 3]])
        let folder = folder
        let threads = Occupancy()
        // As many as the pool of the process has, each stuck in a slow disk.
        let pool = ThreadPool(limit: 16) { work in
            threads.enter()
            return DetachedThread.start {
                work()
                threads.leave()
            }
        }
        let disk = DispatchSemaphore(value: 0)
        let stuck = Lock(0)
        for _ in 0..<16 {
            let isTaken = pool.start {
                stuck.withLock { $0 += 1 }
                disk.wait()
            }
            #expect(isTaken)
        }
        while stuck.withLock({ $0 }) < 16 { await Task.yield() }
        let downloads = ThreadPool.$files.withValue(pool) {
            (0..<300).map { number in
                Task { try await rig.client.download("https://one.test/", to: folder.path("\(number)")).bytes }
            }
        }
        let limit = ContinuousClock.now + .seconds(120)
        while pool.waitingCount < 300, ContinuousClock.now < limit { await Task.yield() }
        #expect(pool.waitingCount == 300 && threads.most == 16)
        for _ in 0..<16 { disk.signal() }
        for download in downloads { #expect(try await download.value == 3) }
        #expect(try folder.names.count == 300)
    }

    @Test(
        "A place that cannot be written to is found before anything is sent",
        arguments: ["/nonexistent/a", "", "/dev/null", "/tmp"]
    )
    func noPlace(path: String) async throws {
        let rig = try rig([[1]])
        let error = await clientError { try await rig.client.download("https://one.test/", to: path) }
        #expect(error?.code == .fileFailed && error?.requestMayHaveBeenSent == false && error?.hint != nil)
        #expect(rig.wire.requests.isEmpty)
    }

    @Test("A name that the file system refuses is found before anything is sent")
    func longName() async throws {
        let rig = try rig([[1]])
        let path = folder.path(String(repeating: "a", count: 256))
        let error = await clientError { try await rig.client.download("https://one.test/", to: path) }
        #expect(error?.code == .fileFailed && error?.requestMayHaveBeenSent == false)
        #expect(try rig.wire.requests.isEmpty && folder.names.isEmpty)
    }

    @Test(
        "A file that replaces another one keeps its owner and group",
        .enabled("only root gives files away") { getuid() == 0 }
    )
    func owner() async throws {
        try folder.write("old", to: "a")
        chmod(folder.path("a"), 0o640)
        #expect(chown(folder.path("a"), 12_345, 12_346) == 0)
        _ = try await rig([[1]]).client.download("https://one.test/", to: folder.path("a"))
        var status = stat()
        #expect(stat(folder.path("a"), &status) == 0)
        #expect(status.st_uid == 12_345 && status.st_gid == 12_346 && status.st_mode & 0o7777 == 0o640)
        #expect(try contents("a") == "\u{1}")
    }

    @Test("A file that is dropped early or cannot get its name leaves nothing")
    func dropped() throws {
        do {
            let file = try ReplacedFile(folder.path("a"))
            try file.append([1, 2])
            #expect(try folder.names.count == 1)
        }
        #expect(try folder.names.isEmpty)
        let file = try ReplacedFile(folder.path("b"))
        try folder.makeFolder("b")
        #expect(throws: FileFault.self) { try file.finish() }
        #expect(try folder.names == ["b"])
    }

    /// It has the total where that is known.
    @Test("Progress begins at 0, grows and ends with the exact number")
    func progress() async throws {
        for (length, coding) in [("5", nil), (nil, nil), ("15", "deflate")] as [(String?, String?)] {
            let wire = ScriptedWire { request, _ in
                // Stored blocks of deflate (RFC 1951 section 3.2.4), the last one with the second chunk.
                let stored: [[UInt8]] = [[0, 2, 0, 0xfd, 0xff, 1, 2], [1, 3, 0, 0xfc, 0xff, 3, 4, 5]]
                var answer = HopAnswer.ok(from: request, chunks: coding == nil ? [[1, 2], [3, 4, 5]] : stored)
                answer.head.headerFields[.contentLength] = length
                answer.head.headerFields[.contentEncoding] = coding
                return answer
            }
            let seen = Lock<[HTTPDNSClient.Progress]>([])
            let client = try Rig(wire: wire).client
            _ = try await client.download(
                "https://one.test/",
                to: folder.path("a"),
                decodesBody: true,
                progress: { step in
                    seen.withLock { $0.append(step) }
                }
            )
            let total: Int64? = length != nil && coding == nil ? 5 : nil
            #expect(
                seen.withLock { $0 } == [
                    HTTPDNSClient.Progress(bytes: 0, total: total, isComplete: false),
                    HTTPDNSClient.Progress(bytes: 2, total: total, isComplete: false),
                    HTTPDNSClient.Progress(bytes: 5, total: total, isComplete: false),
                    HTTPDNSClient.Progress(bytes: 5, total: 5, isComplete: true),
                ]
            )
            #expect(seen.withLock { $0[1].fraction } == total.map { _ in 0.4 } && seen.withLock { $0[3].fraction } == 1)
        }
    }

    @Test("An earlier observer of the progress keeps its reports")
    func twoReports() async throws {
        let first = Lock<[Int64]>([])
        let second = Lock<[Int64]>([])
        let monitor = Around { request, context, next in
            var response = try await next(request, context)
            response.body = response.body.reportingProgress { step in first.withLock { $0.append(step.bytes) } }
            return response
        }
        let wire = ScriptedWire { request, _ in .ok(from: request, chunks: [[1, 2]]) }
        let rig = try Rig(wire: wire) { $0.applicationInterceptors = [monitor] }
        _ = try await rig.client.download(
            "https://one.test/",
            to: folder.path("a"),
            progress: { step in
                second.withLock { $0.append(step.bytes) }
            }
        )
        #expect(first.withLock { $0 } == [0, 2, 2] && second.withLock { $0 } == [0, 2, 2])
    }

    @Test("A body that fails is never complete")
    func neverComplete() async throws {
        let broken = try rig([[1]], endingWith: TransferFailure(code: .connectionLost, phase: .body, message: "broke"))
        let seen = Lock<[HTTPDNSClient.Progress]>([])
        let body = try await broken.client.get("https://one.test/").body.reportingProgress { step in
            seen.withLock { $0.append(step) }
        }
        #expect(await clientError { try await body.collect(upTo: .bytes(9)) }?.code == .connectionLost)
        #expect(seen.withLock { $0.map(\.bytes) } == [0, 1] && seen.withLock { $0.allSatisfy { !$0.isComplete } })
    }
}
