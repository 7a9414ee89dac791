// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import ServerRig

struct LogFileTests {
    @Test("Whole lines are read, and after a mark those that began after it")
    func marks() throws {
        let folder = try TemporaryFolder()
        let log = LogFile(path: try folder.write("one\ntw", to: "log"))
        #expect(try log.lines(since: .beginning) == ["one"])
        let torn = log.end
        try folder.write("one\ntwo\n", to: "log")
        let whole = log.end
        #expect(try log.lines(since: torn) == [])
        try folder.write("one\ntwo\nthree\nfo", to: "log")
        #expect(try log.lines(since: torn) == ["three"])
        #expect(try log.lines(since: whole) == ["three"])
        #expect(try log.lines(since: .beginning) == ["one", "two", "three"])
        #expect(try log.lines(since: log.end) == [])
    }
}
