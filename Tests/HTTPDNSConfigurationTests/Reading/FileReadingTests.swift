// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Glibc
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSConfiguration

#if YAML
struct FileReadingTests {
    /// A folder that is gone after the test.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = try TemporaryFolder()
        try withExtendedLifetime(folder) { try body(folder.path) }
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    private func description(_ path: String) -> String {
        do {
            _ = try HTTPDNSConfigurationFile.read(path)
            return "read"
        } catch {
            return error.description
        }
    }

    @Test("A file is read, with paths relative to its folder")
    func relative() throws {
        try withFolder { folder in
            try write(Array("not a certificate, but a file".utf8), folder + "/ca.pem")
            try write(Array("version: 1\nclient: { ca_file: ca.pem }\n".utf8), folder + "/f.yaml")
            let configuration = try HTTPDNSClient.Configuration.file(folder + "/f.yaml")
            #expect(configuration.trustRoots == .file(folder + "/ca.pem"))
        }
    }

    @Test("A client certificate is named by paths, its password by the secret's source")
    func clientCertificate() throws {
        try withFolder { folder in
            for name in ["a.pem", "a.key", "ca.pem"] { try write(Array("x".utf8), folder + "/" + name) }
            let text = """
                version: 1
                client:
                  ca_file: ca.pem
                  trust: { client_certificate: { file: a.pem, key: a.key, password: { env: KEY_PASSWORD } } }
                """
            try write(Array(text.utf8), folder + "/f.yaml")
            let trust = try HTTPDNSClient.Configuration.file(folder + "/f.yaml").trust
            #expect(trust.roots == .file(folder + "/ca.pem"))
            #expect(
                trust.clientCertificate
                    == HTTPDNSTrust.ClientCertificate(
                        certificateFile: folder + "/a.pem",
                        keyFile: folder + "/a.key",
                        keyPassword: .environment("KEY_PASSWORD")
                    )
            )
        }
    }

    @Test("A file named in the file must be readable")
    func missingCertificate() throws {
        try withFolder { folder in
            try write(Array("version: 1\nclient: { ca_file: sub/ca.pem }\n".utf8), folder + "/f.yaml")
            let expected = """
                \(folder)/f.yaml:2:20: client.ca_file: "\(folder)/sub/ca.pem" cannot be read: No such file or directory \
                (a relative path begins at the folder of this file)
                """
            #expect(description(folder + "/f.yaml") == expected)
        }
    }

    @Test("A file that cannot be read is reported with the system's reason")
    func unreadable() throws {
        try withFolder { folder in
            #expect(
                description(folder + "/none.yaml") == """
                    \(folder)/none.yaml: the configuration file cannot be read: No such file or directory \
                    (check the path; it is as seen from the working directory)
                    """
            )
            #expect(
                description(folder)
                    == "\(folder): the configuration file cannot be read: Is a directory (name the file inside it)"
            )
            #expect(description("").contains("the path is empty"))
            #expect(description("a\0b").contains("the path holds a NUL"))
        }
    }

    @Test(
        "Text that is not UTF-8 is reported with its byte",
        arguments: [
            (
                Array("version: 1\nclient: ".utf8) + [0xff, 0x20],
                ":2:9: byte 19 (0xff) is not UTF-8; allowed: UTF-8 text"
            ),
            ([0xc3], ":1:1: byte 0 (0xc3) is not UTF-8; allowed: UTF-8 text"),
            (
                Array("v: \u{fc}".utf8) + [0xed, 0xa0, 0x80],
                ":1:5: byte 5 (0xed) is not UTF-8; allowed: UTF-8 text"
            ),
            (Array("ver\0".utf8), ":1:4: byte 3 (0x0) is not UTF-8; allowed: UTF-8 text"),
            ([0xff, 0xfe, 0x76, 0x00], ": the file is UTF-16; allowed: UTF-8"),
        ] as [([UInt8], String)]
    )
    func notUTF8(bytes: [UInt8], expected: String) throws {
        try withFolder { folder in
            try write(bytes, folder + "/f.yaml")
            #expect(description(folder + "/f.yaml").hasPrefix(folder + "/f.yaml" + expected))
        }
    }

    @Test("A file above 16 MiB is refused, and one of 16 MiB is read")
    func size() throws {
        try withFolder { folder in
            let start = Array("version: 1\n# ".utf8)
            let bytes = start + [UInt8](repeating: UInt8(ascii: "x"), count: (16 << 20) - start.count)
            try write(bytes + [UInt8(ascii: "x")], folder + "/f.yaml")
            let expected = "\(folder)/f.yaml: the file is larger than 16 MiB (is it a configuration file?)"
            #expect(description(folder + "/f.yaml") == expected)
            try write(Array(bytes.prefix(16 << 20)), folder + "/f.yaml")
            #expect(description(folder + "/f.yaml") == "read")
        }
    }

    @Test("A pipe without a writer ends the reading of a file; one with a writer is read")
    func pipe() throws {
        try withFolder { folder in
            let path = folder + "/pipe"
            try #require(mkfifo(path, 0o600) == 0)
            let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
                try FileContents.reading(path, patience: .milliseconds(20))
            }
            let expected = "cannot be read: it is a pipe, and nothing was written to it for 20 ms"
            #expect(error.map { "\($0)" }?.contains(expected) == true)
            // With a reader of its own, opening it to write does not wait.
            let reader = open(path, O_RDONLY | O_NONBLOCK)
            let writer = open(path, O_WRONLY)
            let text = Array("version: 1\n".utf8)
            #expect(Glibc.write(writer, text, text.count) == text.count)
            close(writer)
            let read = try FileContents.reading(path)
            close(reader)
            #expect(read.bytes == text && read.sight?.isPlain == false)
        }
    }

    /// The second call does not get the bytes of a read that began before it.
    @Test("Calls that read one hanging file share its thread, and get no older bytes")
    func sharedReading() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        func waiting(_ count: Int) async throws {
            while FileContents.reads.withLock({ $0[path]?.read })?.waiting != count {
                try await Task.sleep(for: .milliseconds(1))
            }
        }
        func send(_ text: String) async throws {
            // It waits until its reader has opened it.
            let writer = try await SerialWork().run { open(path, O_WRONLY) }
            #expect(Glibc.write(writer, text, text.utf8.count) == text.utf8.count)
            close(writer)
        }
        let first = Task { try await SerialWork().run { try FileContents.reading(path).bytes } }
        try await waiting(1)
        let second = Task { try await SerialWork().run { try FileContents.reading(path).bytes } }
        try await waiting(2)
        try await send("old")
        #expect(try await first.value == Array("old".utf8))
        try await waiting(1)
        try await send("new")
        #expect(try await second.value == Array("new".utf8))
        let isForgotten = FileContents.reads.withLock { $0[path] == nil }
        #expect(isForgotten)
    }

    @Test("A hosts file is imported")
    func hosts() throws {
        try withFolder { folder in
            try write(Array("203.0.113.7 a.example b.example\n".utf8), folder + "/lan.hosts")
            #expect(try HTTPDNSConfigurationFile.read(folder + "/lan.hosts").resolver.mappings.count == 2)
        }
    }
}
#endif
