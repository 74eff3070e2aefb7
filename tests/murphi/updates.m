-- SPDX-License-Identifier: Apache-2.0
-- Updates of src/coherence/protocol.md: one block of two bytes, its home (node 0) and two other
-- ranks. The first byte is written by one rank alone, the second one by all. Checked by rumur.
-- Copies stay: `gone` is left to the exploration of the code. `seeded` puts one mistake in, which
-- the check must find.

const
  nodes: 3;
  room: 4;       -- messages under way from one rank to another; more is an error
  writer: 1;     -- of the first byte
  seeded: 0;     -- 1: an update takes the place of what is under way; 2: a grant of what is not
                 -- released; 3: a release does not wait for those who have copies

type
  node: 0 .. nodes - 1;
  byte: 0 .. 1;
  value_type: 0 .. 1;
  copy_state: enum { invalid, asked, shared };
  kind_type: enum { get, grant, written, update, taken, updated };
  message: record
    kind: kind_type;
    value: array [byte] of value_type;
    changed: array [byte] of boolean;
    count: 0 .. nodes;   -- of `taken`
    from: node;          -- of `update`: who has written
  end;
  channel: record
    count: 0 .. room;
    item: array [0 .. room - 1] of message;
  end;

var
  -- The home's own block is its memory, always shared.
  block: array [node] of record
    state: copy_state;
    value: array [byte] of value_type;
    is_open: boolean;
    before: array [byte] of value_type;
    under_way: array [byte] of boolean;
    untaken: 0 .. 1;
    missing: -2 .. 2;    -- answers of those who have copies
  end;
  sharer: array [node] of boolean;
  line: array [node] of array [node] of channel;   -- from, to
  latest: value_type;    -- that the first byte's writer has written

function is_quiet(n: node): boolean;
begin
  return !block[n].is_open & block[n].untaken = 0 & (block[n].missing = 0 | seeded = 3);
end;

procedure send(from: node; target: node; what: message);
begin
  assert line[from][target].count < room "a channel is full";
  line[from][target].item[line[from][target].count] := what;
  line[from][target].count := line[from][target].count + 1;
end;

procedure make(var what: message; kind: kind_type);
begin
  what.kind := kind;
  what.count := 0;
  what.from := 0;
  for b: byte do
    what.value[b] := 0;
    what.changed[b] := false;
  end;
end;

procedure send_plain(from: node; target: node; kind: kind_type);
var what: message;
begin
  make(what, kind);
  send(from, target, what);
end;

procedure take(from: node; target: node);
begin
  for i: 0 .. room - 2 do
    line[from][target].item[i] := line[from][target].item[i + 1];
  end;
  undefine line[from][target].item[line[from][target].count - 1];
  line[from][target].count := line[from][target].count - 1;
end;

-- What another rank has changed is put in; the rank's own changes stay.
procedure merge(n: node; what: message);
begin
  alias mine: block[n] do
    for b: byte do
      if what.changed[b] & (!mine.under_way[b] | seeded = 1) then
        if mine.is_open then
          if mine.value[b] = mine.before[b] then mine.value[b] := what.value[b]; end;
          mine.before[b] := what.value[b];
        else
          mine.value[b] := what.value[b];
        end;
      end;
    end;
  end;
end;

-- The block is open no more. Others are told, if there is anything.
procedure close(n: node);
var what: message; is_changed: boolean;
begin
  make(what, (n = 0 ? update : written));
  what.from := n;
  alias mine: block[n] do
    mine.is_open := false;
    is_changed := false;
    for b: byte do
      what.changed[b] := mine.value[b] != mine.before[b];
      if what.changed[b] then
        what.value[b] := mine.value[b];
        is_changed := true;
      end;
      if n != 0 then mine.under_way[b] := what.changed[b]; end;
      mine.before[b] := 0;
    end;
    if is_changed then
      if n != 0 then
        mine.untaken := 1;
        send(n, 0, what);
      else
        for other: 1 .. nodes - 1 do
          if sharer[other] then
            mine.missing := mine.missing + 1;
            send(0, other, what);
          end;
        end;
      end;
    end;
  end;
end;

startstate
begin
  undefine line;
  latest := 0;
  for n: node do
    alias mine: block[n] do
      mine.state := (n = 0 ? shared : invalid);
      mine.is_open := false;
      mine.untaken := 0;
      mine.missing := 0;
      for b: byte do
        mine.value[b] := 0;
        mine.before[b] := 0;
        mine.under_way[b] := false;
      end;
    end;
    sharer[n] := false;
    for other: node do line[n][other].count := 0; end;
  end;
end;

-- What the program of a rank does.

ruleset n: 1 .. nodes - 1 do
  rule "a read that misses"
    block[n].state = invalid ==>
  begin
    block[n].state := asked;
    send_plain(n, 0, get);
  end;
end;

ruleset n: node; b: byte; v: value_type do
  rule "a write"
    block[n].state = shared & (b = 1 | n = writer) ==>
  begin
    alias mine: block[n] do
      if !mine.is_open & (n != 0 | sharer[1] | sharer[2]) then
        mine.is_open := true;
        for each: byte do mine.before[each] := mine.value[each]; end;
      end;
      mine.value[b] := v;
      if b = 0 then latest := v; end;
    end;
  end;
end;

ruleset n: node do
  rule "a release"
    block[n].is_open & block[n].untaken = 0 & block[n].missing = 0 ==>
  begin
    close(n);
  end;
end;

-- Messages.

ruleset from: node; target: node do
  rule "a message comes"
    line[from][target].count != 0 ==>
  var told: 0 .. nodes; answer: message; come: message;
  begin
    come := line[from][target].item[0];
    take(from, target);
    alias mine: block[target] do
      switch come.kind
        case get:
          sharer[from] := true;
          make(answer, grant);
          for b: byte do
            answer.value[b] := (mine.is_open & seeded != 2 ? mine.before[b] : mine.value[b]);
          end;
          send(0, from, answer);
        case grant:
          assert mine.state = asked "a grant that nobody waits for";
          mine.state := shared;
          for b: byte do mine.value[b] := come.value[b]; end;
        case written:
          merge(0, come);
          told := 0;
          answer := come;
          answer.kind := update;
          for other: 1 .. nodes - 1 do
            if sharer[other] & other != from then
              send(0, other, answer);
              told := told + 1;
            end;
          end;
          make(answer, taken);
          answer.count := told;
          send(0, from, answer);
        case update:
          assert mine.state = shared "an update of what is not here";
          merge(target, come);
          send_plain(target, come.from, updated);
        case taken:
          mine.untaken := 0;
          mine.missing := mine.missing + come.count;
          for b: byte do mine.under_way[b] := false; end;
        case updated:
          mine.missing := mine.missing - 1;
      end;
    end;
    undefine come;
    undefine answer;
    undefine told;
  end;
end;

invariant "what has been released is everywhere"
  is_quiet(writer) ->
    (block[0].value[0] = latest &
     forall n: 1 .. nodes - 1 do block[n].state != shared | block[n].value[0] = latest endforall);

invariant "when nothing is under way all copies are alike"
  (forall n: node do
     !block[n].is_open & forall other: node do line[n][other].count = 0 endforall endforall) ->
    forall n: 1 .. nodes - 1 do
      block[n].state != shared |
        (block[n].value[0] = block[0].value[0] & block[n].value[1] = block[0].value[1])
    endforall;

ruleset n: node do
  liveness "every release comes to its end" is_quiet(n);
end;
ruleset n: 1 .. nodes - 1 do
  liveness "every read comes to its end" block[n].state != asked;
end;
