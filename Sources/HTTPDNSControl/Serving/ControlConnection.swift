internal import HTTPDNSPrimitives

/// One connection to the control socket: what came in, what has to go out, and when it is given up. A value: it does
/// neither I/O nor work, and says what is to be done.
///
/// One request is performed at a time; those behind it wait in the order of their arrival. A watch goes on beside them.
struct ControlConnection: Sendable {
    /// What is to be done.
    enum Action: Hashable, Sendable {
        /// Perform a request, and call ``performed(_:at:)`` when it is done.
        case perform(ControlRequest)
        /// Close the connection, and end the work for it.
        case close
    }

    /// What the peer sent and nobody has read yet.
    private var input: [UInt8] = []
    /// How many octets of `input` are read.
    private var consumed = 0
    /// Where in `input` the search for a line feed goes on.
    private var searched = 0
    private var output: [UInt8] = []
    /// How many octets of `output` are written.
    private var written = 0
    private var isPerforming = false
    private var isWatching = false
    /// Whether nothing more comes from the peer.
    private var inputHasEnded = false
    /// Whether it is closed once `output` is written.
    private var isEnding = false
    private var idleSince: MonotonicTime
    /// Since when the peer takes nothing of `output`.
    private var waitingSince: MonotonicTime?

    init(at now: MonotonicTime) { idleSince = now }

    /// Whether the peer's octets are wanted. What it sends while it has to wait stays in the kernel, and at last with it.
    var wantsInput: Bool { !inputHasEnded && !isEnding && !isPerforming }

    /// What is to be written next; empty when nothing is.
    var pendingOutput: ArraySlice<UInt8> { output[written...] }

    /// When ``timePassed(at:)`` has to be called at last; nil means never.
    var deadline: MonotonicTime? {
        if let waitingSince { return waitingSince + ControlProtocol.readerPatience }
        return isPerforming || isWatching ? nil : idleSince + ControlProtocol.idleLimit
    }

    /// Takes in what the peer sent.
    mutating func received(_ octets: some Collection<UInt8>, at now: MonotonicTime) -> [Action] {
        guard !isEnding else { return [] }
        input += octets
        return readLines(at: now)
    }

    /// Notes that nothing more comes from the peer. What it asked for before is still answered.
    mutating func inputEnded(at now: MonotonicTime) -> [Action] {
        guard !inputHasEnded else { return [] }
        inputHasEnded = true
        return readLines(at: now)
    }

    /// Takes in a line for the peer.
    mutating func send(_ line: [UInt8], at now: MonotonicTime) -> [Action] {
        guard output.count - written + line.count <= ControlProtocol.maximumBacklog else { return [.close] }
        output += line
        waitingSince = waitingSince ?? now
        return []
    }

    /// Notes that a request is done with.
    mutating func performed(_ request: ControlRequest, at now: MonotonicTime) -> [Action] {
        if case .watch = request.command { isWatching = false } else { isPerforming = false }
        idleSince = now
        return readLines(at: now)
    }

    /// Notes that the kernel took some of ``pendingOutput``.
    mutating func wrote(_ count: Int, at now: MonotonicTime) -> [Action] {
        guard count > 0 else { return [] }
        written += count
        waitingSince = now
        if written == output.count {
            output = []
            written = 0
            waitingSince = nil
            idleSince = now
        } else if written >= ControlConnection.compactionThreshold {
            output.removeFirst(written)
            written = 0
        }
        return endIfDone()
    }

    /// Gives up a peer that neither reads nor asks.
    mutating func timePassed(at now: MonotonicTime) -> [Action] {
        guard let deadline, now >= deadline else { return [] }
        guard waitingSince == nil, !isEnding else { return [.close] }
        let seconds = ControlProtocol.idleLimit.components.seconds
        return end(with: ControlFault(.idle, "nothing was asked for \(seconds) s; the connection ends"), at: now)
    }

    /// Says why, and ends the connection once that is read.
    mutating func end(with fault: ControlFault, at now: MonotonicTime) -> [Action] {
        isEnding = true
        return send(ControlReply(to: nil, fault).line, at: now) + endIfDone()
    }

    /// A reader that is this far behind costs a copy of the rest, and no more memory than twice that.
    private static let compactionThreshold = 256 * 1024

    /// Reads as many requests as may be performed now.
    private mutating func readLines(at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        defer {
            input.removeFirst(consumed)
            searched -= consumed
            consumed = 0
        }
        while !isPerforming, !isEnding, let line = nextLine() {
            guard line.count <= ControlProtocol.maximumLine else { return actions + end(with: .lineTooLong, at: now) }
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { continue }
            idleSince = now
            do throws(ControlFault) {
                actions.append(.perform(try admit(ControlRequest(line: Array(line)))))
            } catch {
                actions += send(ControlReply(to: nil, error).line, at: now)
            }
        }
        if !isEnding, !isPerforming, input.count - consumed > ControlProtocol.maximumLine {
            return actions + end(with: .lineTooLong, at: now)
        }
        return actions + endIfDone()
    }

    private mutating func admit(_ request: ControlRequest) throws(ControlFault) -> ControlRequest {
        guard case .watch = request.command else {
            isPerforming = true
            return request
        }
        guard !isWatching else {
            throw ControlFault(.alreadyWatching, "this connection watches already", hint: "open another one")
        }
        isWatching = true
        return request
    }

    /// The next line, without its line feed. What is left when the peer has ended counts as one.
    private mutating func nextLine() -> ArraySlice<UInt8>? {
        if let end = input[searched...].firstIndex(of: UInt8(ascii: "\n")) {
            defer { (consumed, searched) = (end + 1, end + 1) }
            return input[consumed..<end]
        }
        searched = input.count
        guard inputHasEnded, consumed < input.count else { return nil }
        defer { consumed = input.count }
        return input[consumed...]
    }

    /// Nothing is left to be done for a peer that ended, or that is to end.
    private func endIfDone() -> [Action] {
        guard pendingOutput.isEmpty else { return [] }
        return isEnding || inputHasEnded && !isPerforming && !isWatching ? [.close] : []
    }
}
