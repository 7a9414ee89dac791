// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import Testing

@testable import ServerRig

@Suite("A log that is being written")
struct LogFileTests {
    @Test("Whole lines are read, and after a mark those that began after it")
    func marks() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "log-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let log = LogFile(path: path)
        func write(_ text: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }

        try write("one\ntw")
        #expect(try log.lines(since: .beginning) == ["one"])
        let torn = log.end
        try write("one\ntwo\n")
        let whole = log.end
        #expect(try log.lines(since: torn) == [])
        try write("one\ntwo\nthree\nfo")
        #expect(try log.lines(since: torn) == ["three"])
        #expect(try log.lines(since: whole) == ["three"])
        #expect(try log.lines(since: .beginning) == ["one", "two", "three"])
        #expect(try log.lines(since: log.end) == [])
    }
}
