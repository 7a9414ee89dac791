internal import CHTTPDNSCurl
internal import HTTPDNSPrimitives

/// One of libcurl's easy handles and the state of the transfer that it carries. Loop thread only.
///
/// libcurl's callbacks get this object as their pointer; they only record here what happened, and the loop acts on it when
/// libcurl has returned.
final class EasyHandle: HeapMember {
    /// The longest chunk that a body is delivered in.
    static let maximumChunk = 64 * 1024

    /// What libcurl reads at once, by default (CURLOPT_BUFFERSIZE).
    static let fullPiece = 16 * 1024

    /// How far a transfer has come.
    enum Phase {
        case connecting, securing, sending, awaitingHead, receiving
    }

    /// Unchecked, as ``head``.
    @exclusivity(unchecked) private(set) var curl: UnsafeMutableRawPointer
    /// Where libcurl writes why a transfer failed; it must outlive each transfer (CURLOPT_ERRORBUFFER).
    let errorBuffer: UnsafeMutablePointer<CChar>
    /// The loop frees its handles before it goes itself, so the reference needs no check.
    unowned(unsafe) let loop: TransportLoop

    /// Whether the options that are the same for all plain requests are set.
    var isConfigured = false
    /// The scheme and versions that the options are set for.
    var configuredFor: (scheme: ParsedURL.Scheme, versions: HTTPDNSTransfer.AllowedVersions)?
    /// Whether libcurl took the options that were set.
    var options = OptionResults()
    /// Whether the last transfer set options that the next one must not see.
    var needsReset = false
    /// The handle's place among those in libcurl's hands.
    var activeIndex = -1
    var heapIndex = -1
    var heapKey: Int64 = 0

    var transfer: Transfer?
    var pin: Pin?
    /// What libcurl has its TLS sessions in. It stays with the handle until the next transfer needs another.
    private var sessions: TLSSessions?
    /// The serial number of the pin that they are of.
    private var sessionsPin: UInt64 = 0
    private var hasTakenSessions = false
    /// The place of its endpoint in the transfer's race; -1 without one.
    var raceIndex = -1
    /// When the race's delay is over; `Int64.max` without a race, and once it is.
    var delayedUntil = Int64.max
    /// When its connection is looked at, because its request has no answer yet; `Int64.max` when it need not be.
    var looksAt = Int64.max
    /// Whether its request was sent once more, because its connection fell silent.
    var isSentElsewhere = false
    /// When its request is sent once more, besides; `Int64.max` when it is not.
    var hedgesAt = Int64.max
    /// Whether its kept connection died, and libcurl dials anew.
    var isRedialed = false
    /// Whether it was stopped because another attempt carries the request.
    private(set) var hasLostRace = false
    /// Whether it was told not to send, see ``endsWithoutSending()``.
    var onlyConnects = false
    /// The scheduled probe that it carries.
    var probe: ProbeTarget?
    /// The connection that is being made for it, and from the pre-request callback on the one that carries its request; nil
    /// before that, for a transfer that found a connection or waits for one.
    var connection: Connection?
    /// Whether that connection was opened for it.
    var hasOpenedConnection = false
    /// The lists that libcurl does not copy; freed when the transfer is over.
    var headerList: UnsafeMutablePointer<curl_slist>?
    /// RESOLVE lines ahead of the pin's own; its last node points into the pin's list.
    var removalList: UnsafeMutablePointer<curl_slist>?

    /// Whether the RESOLVE list holds the pin's entry.
    var bringsEntry = false
    /// Whether libcurl took a kept connection that must not carry the request: it is not of the pin, or has stray bytes.
    var rejectsConnection = false

    var phase = Phase.connecting
    var startedAt: Int64 = 0
    /// When its request went out.
    var sentAt: Int64 = 0
    /// When its connection was begun, or looked for.
    var dialedAt: Int64 = 0
    /// When the phase began, or bytes last moved.
    var activeAt: Int64 = 0
    /// When the pin was last told that its server is heard.
    var heardAt: Int64 = 0
    var mayHaveBeenSent = false
    /// Whether it was sent over HTTP/1.x.
    var isSentOverHTTP1 = false
    /// Whether libcurl makes a connection when it needs one, whatever it has kept.
    private(set) var connectsFresh = false
    /// Its place in the ``StreamQueue`` of its pin; 0 when it does not wait there.
    var streamTicket: UInt64 = 0
    /// Whether it waits there, and libcurl does not have it.
    var waitsForStream: Bool { streamTicket != 0 }
    /// Whether it is counted in ``StreamQueue/undecided``.
    var isUndecided = false
    /// The stream that it was sent on; nil over HTTP/1.x.
    var stream: RequestStream?
    /// Whether it is counted in ``Connection/unrepeatable``.
    var isCounted = false
    var isTracing = false
    /// Whether libcurl repeats the request only when its stream was refused.
    var repeatsOnlyRefused = false
    /// Whether its transfer ended well.
    var isSuccess = false
    /// Whether it was sent before, and may have been processed then.
    var isRepeated = false
    /// Whether the server may have processed something of the request, as far as is known.
    var mayHaveArrived: Bool { isRepeated || mayHaveBeenSent && !isUnprocessed }
    /// Why the system gave no socket; 0 when it did.
    var socketError: Int32 = 0
    /// The pin of the server's public key, as libcurl compared it.
    var serverKeyPin: String?
    /// Why a callback stopped the transfer; it wins over libcurl's own code.
    var failure: TransferFailure? {
        didSet { hasFailed = failure != nil }
    }
    /// The same in one byte: each transfer asks, and few fail.
    private(set) var hasFailed = false

    /// Unchecked, as what else is touched for each piece that comes: only this object's methods on the loop's thread reach
    /// it, and none of them calls out while it changes it. The check at run time costs more than the change.
    @exclusivity(unchecked) var head: [UInt8] = []
    /// The status in the head so far.
    var status: Int?
    var isHeadComplete = false
    @exclusivity(unchecked) var declaredLength = DeclaredLength()
    @exclusivity(unchecked) var declaredCoding = DeclaredCoding()
    /// Takes the content coding off the body; nil where that is libcurl's work, or there is none.
    var inflater: Inflater?
    var isHeadDelivered = false
    /// Full chunks of this loop turn, and the one that is being filled.
    var chunks: [[UInt8]] = []
    @exclusivity(unchecked) var chunk: [UInt8] = []
    /// Bytes received in this loop turn.
    var pendingBytes = 0
    /// Bytes that the caller had not taken when it was last looked.
    var unreadBytes = 0
    var bodyBytes = 0
    /// How many there may be.
    var maximumBodyBytes = Int.max
    var isReadingPaused = false
    /// Whether libcurl hands over what it has kept while reading was paused.
    var isTakingKept = false
    var isSendingPaused = false
    /// The version that TLS negotiated, for the transfer that its connection was opened for.
    var negotiated: HTTPDNSTransfer.HTTPVersion?
    /// How much of the request body is sent.
    var sentBytes = 0
    /// Whether the loop knows that there is something to deliver.
    var isTouched = false

    init?(loop: TransportLoop) {
        guard let curl = curl_easy_init() else { return nil }
        self.curl = curl
        self.loop = loop
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(curl)
        errorBuffer.deallocate()
    }

    /// Whether libcurl may keep a state of this transfer that spoils the handle's next one. Unsetting all options does not
    /// take it away.
    ///
    /// libcurl may have prepared to send the body again, and was stopped: it would begin the next transfer with taking that
    /// body back, which fails (7.88: `rewindbeforesend`). Or the stream was refused after a response had begun: libcurl would
    /// take an end of the next transfer's connection for a refusal (7.88: `refused_stream`).
    var spoilsNext: Bool {
        mayHaveBeenSent && transfer?.hasBody == true && (!isHeadComplete || hasFailed) || stream != nil && !isSuccess
    }

    /// Keeps TLS sessions there from now on.
    private func use(_ sessions: TLSSessions) {
        guard self.sessions !== sessions else { return }
        sessions.use(by: curl)
        self.sessions = sessions
    }

    /// Before libcurl makes a place for sessions of its own, which it would lose with the first of a pin's.
    func useNoSessions() {
        // They outlive a reset of the options (`curl_easy_reset`).
        if sessions == nil { use(loop.noSessions) }
    }

    /// Takes sessions of its pin for the transfer.
    func takeSessions(of pin: Pin) {
        let own = sessionsPin == pin.serial || sessions?.isEmpty == true ? sessions : nil
        use(pin.sessions.take(own))
        sessionsPin = pin.serial
        hasTakenSessions = true
    }

    func giveBackSessions() {
        guard hasTakenSessions, let sessions else { return }
        pin?.sessions.giveBack(sessions)
        hasTakenSessions = false
    }

    /// Unsets all options. Connections, and what else a handle has besides options, stay.
    func forgetOptions() {
        curl_easy_reset(curl)
        options = OptionResults()
        isTracing = false
        repeatsOnlyRefused = false
        isConfigured = false
        configuredFor = nil
        connectsFresh = false
    }

    /// Sets CURLOPT_FRESH_CONNECT.
    func setConnectsFresh(_ connectsFresh: Bool) {
        guard connectsFresh != self.connectsFresh else { return }
        set(CURLOPT_FRESH_CONNECT, connectsFresh ? 1 : 0)
        self.connectsFresh = connectsFresh
    }

    /// The end of an attempt that was late. No caller sees it.
    static let lostRace = TransferFailure(code: .heldBack, phase: .send, message: "another endpoint was faster")

    /// Stops it: another attempt carries the request.
    func loseRace() {
        failure = EasyHandle.lostRace
        hasLostRace = true
    }

    /// The old handle is freed.
    func replaceHandle(with handle: UnsafeMutableRawPointer) {
        curl_easy_cleanup(curl)
        curl = handle
        giveBackSessions()
        sessions = nil
        isConfigured = false
        configuredFor = nil
        connectsFresh = false
        isTracing = false
        repeatsOnlyRefused = false
    }

    /// Forgets the last transfer. Connections stay in the loop's pool.
    func reset() {
        if needsReset {
            forgetOptions()
            needsReset = false
        }
        curl_slist_free_all(headerList)
        headerList = nil
        freeRemovalList()
        errorBuffer[0] = 0
        giveBackSessions()
        if transfer?.isProbe == true { probe = nil }
        transfer = nil
        pin = nil
        raceIndex = -1
        delayedUntil = .max
        looksAt = .max
        isSentElsewhere = false
        hedgesAt = .max
        isRedialed = false
        hasLostRace = false
        onlyConnects = false
        rejectsConnection = false
        use(nil, isOpenedHere: false)
        heardAt = 0
        phase = .connecting
        mayHaveBeenSent = false
        isSentOverHTTP1 = false
        closeStream()
        setTracing(false)
        isRepeated = false
        isSuccess = false
        socketError = 0
        serverKeyPin = nil
        if hasFailed { failure = nil }
        head = []
        status = nil
        isHeadComplete = false
        declaredLength = DeclaredLength()
        endDecoding()
        isHeadDelivered = false
        chunks = []
        chunk = []
        pendingBytes = 0
        unreadBytes = 0
        bodyBytes = 0
        isReadingPaused = false
        isSendingPaused = false
        negotiated = nil
        sentBytes = 0
        isTouched = false
    }

    /// Gives libcurl the removals and the pin's entry. An entry that stands already is not brought again, which saves
    /// libcurl from making it anew for each request.
    func setResolveList(removals: [String], _ pin: Pin) {
        bringsEntry = !pin.isEntered || !removals.isEmpty || pin.sharesName
        set(CURLOPT_RESOLVE, list: bringsEntry ? resolveList(removals: removals, then: pin) : nil)
    }

    /// `removals`, then the pin's entry, which belongs to the pin.
    private func resolveList(removals: [String], then pin: Pin) -> UnsafeMutablePointer<curl_slist>? {
        guard !removals.isEmpty else { return pin.resolve }
        for line in removals { removalList = curl_slist_append(removalList, line) }
        var last = removalList
        while let next = last?.pointee.next { last = next }
        last?.pointee.next = pin.resolve
        return removalList
    }

    func freeRemovalList() {
        var last = removalList
        // The tail belongs to the pin.
        while let node = last {
            if node.pointee.next == pin?.resolve {
                node.pointee.next = nil
                break
            }
            last = node.pointee.next
        }
        curl_slist_free_all(removalList)
        removalList = nil
    }

    // MARK: options

    func set(_ option: CURLoption, _ value: Int) { options.set(option, value, of: curl) }
    func set(_ option: CURLoption, offset value: Int64) {
        options.note(ccurl_set_offset(curl, option, curl_off_t(value)), option)
    }
    func set(_ option: CURLoption, _ value: String?) { options.set(option, value, of: curl) }
    func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer?) {
        options.note(ccurl_set_pointer(curl, option, value), option)
    }
    func set(_ option: CURLoption, list: UnsafeMutablePointer<curl_slist>?) {
        options.note(ccurl_set_list(curl, option, list), option)
    }
    func set(_ option: CURLoption, function: ccurl_data_function) {
        options.note(ccurl_set_data_function(curl, option, function), option)
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        _ = ccurl_get_long(curl, info, &value)
        return value
    }

    func microseconds(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        _ = ccurl_get_offset(curl, info, &value)
        return Int64(value)
    }
}
